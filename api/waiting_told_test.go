package api_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"aanet/api/apitest"
	"aanet/store"
)

func TestWhatThoseWhoWaitAreTold(t *testing.T) {
	play(t, apitest.Options{}, scene{"of everything that makes an event", toldOfAll})
}

// toldOfAll listens to what those who wait are told: of messages at their commit, of the rest when the log is read.
func toldOfAll(t *testing.T, ws *apitest.Workspace) {
	a := ws.Mint(t)
	a.Acquire(t, "l", 60)
	watch, err := ws.Store.Watch(t.Context(), uuid.MustParse(ws.ID))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	var mu sync.Mutex
	var told []string
	watch.Want(func(c store.Change) bool {
		mu.Lock()
		defer mu.Unlock()
		line := c.Operation
		if c.Path != nil {
			line += " " + *c.Path
		}
		if c.Recipient != nil {
			line += " for " + c.Recipient.String()
		}
		told = append(told, line)
		return false
	})
	a.Write(t, "f", "x")
	a.OK(t, "append_file", args{"path": "f", "content": "y"})
	a.OK(t, "delete_file", args{"path": "f"})
	a.OK(t, "send_message", args{"body": "to all"})
	ws.Owner.OK(t, "send_message", args{"body": "to one", "topic": "t", "to_subkey_id": a.ID})
	a.OK(t, "release_lock", args{"name": "l"})
	b := ws.Mint(t)
	ws.Revoke(t, b) // its row is behind all others, and told by the log alone
	last := "REVOKE_SUBKEY " + b.ID
	eventually(t, last, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(told, last)
	})
	mu.Lock()
	defer mu.Unlock()
	// The order may differ, and a row may be read just before its commit is known here.
	slices.Sort(told)
	told = slices.Compact(told)
	want := []string{"PUT_FILE f", "APPEND_FILE f", "DELETE_FILE f", "SEND_MESSAGE", "SEND_MESSAGE t for " + a.ID, "LOCK_RELEASE l", last}
	slices.Sort(want)
	same(t, "told", fmt.Sprintf("%q", told), fmt.Sprintf("%q", want))
}
