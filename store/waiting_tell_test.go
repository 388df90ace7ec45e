package store

import (
	"testing"

	"github.com/google/uuid"
)

// TestMessagesAreToldOnce tells of a message at its commit, before its row is read or while it is.
func TestMessagesAreToldOnce(t *testing.T) {
	id, workspace := uuid.New(), uuid.New()
	operation, message := "SEND_MESSAGE", Change{Operation: "SEND_MESSAGE", Message: &id}
	for _, reading := range []bool{false, true} {
		w := &waiters{places: map[uuid.UUID]*place{}, dirty: map[uuid.UUID]bool{}, wake: make(chan struct{}, 1)}
		watch := &Watch{c: make(chan struct{}, 1), waiters: w, workspace: workspace}
		at := w.enter(watch)
		at.know(7)
		times := 0
		watch.Want(func(c Change) bool {
			if c.Message == nil || *c.Message != id {
				t.Errorf("told of %+v", c)
			}
			times++
			return true
		})
		var d dirtyPlaces
		if reading {
			d = w.takeDirty()
		}
		w.tellAhead(workspace, message)
		if times != 1 || len(watch.c) != 1 {
			t.Errorf("at the commit: told %d times, woken %d times", times, len(watch.c))
		}
		if !reading {
			d = w.takeDirty()
		}
		w.tellRows(d, []told{{Workspace: workspace, Ends: 8, Operation: &operation, Message: &id}})
		if times != 1 || at.seq != 8 {
			t.Errorf("after its row: told %d times, up to %d", times, at.seq)
		}
		other := uuid.New()
		id = other // that of another replica is told by its row
		w.tellRows(w.takeDirty(), []told{{Workspace: workspace, Ends: 9, Operation: &operation, Message: &other}})
		if times != 2 || at.seq != 9 {
			t.Errorf("another: told %d times, up to %d", times, at.seq)
		}
	}
}
