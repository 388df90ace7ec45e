package buckets

import (
	"testing"
	"time"
)

func TestBucketsAreBounded(t *testing.T) {
	b := New[int](1, 1)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	wait := func(key int) time.Duration {
		wait, _ := b.Take(key, 1, now)
		return wait
	}
	for i := range most {
		wait(i)
	}
	wait(0) // used again: now 1 is the oldest
	wait(-1)
	if len(b.byKey) != most || b.recent.Len() != most {
		t.Errorf("%d buckets are kept (%d in order), want %d", len(b.byKey), b.recent.Len(), most)
	}
	if wait(0) == 0 {
		t.Error("the bucket used last was forgotten")
	}
	if wait(1) != 0 {
		t.Error("the bucket not used for longest was kept")
	}
	b.Drop(0)
	if wait(0) != 0 {
		t.Error("a dropped bucket was kept")
	}
}

// What is undone was never taken.
func TestUndo(t *testing.T) {
	b := New[string](1, 1)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	_, undo := b.Take("a", 1, now)
	undo()
	if wait, _ := b.Take("a", 1, now); wait != 0 {
		t.Errorf("what was given back is there after %v", wait)
	}
	if wait, undo := b.Take("a", 1, now); wait != time.Second {
		t.Errorf("an empty bucket asks for %v", wait)
	} else {
		undo()
	}
	if wait, _ := b.Take("a", 1, now.Add(time.Second)); wait != 0 {
		t.Errorf("a second later it asks for %v", wait)
	}
}
