package store

import (
	"testing"

	"github.com/google/uuid"
)

// While somebody holds a workspace's row, a forged key is refused at once: it never waits for the row,
// so strangers can stall no tenant and no lane.
func TestForgedKeysLockNothing(t *testing.T) {
	nb := openNotebook(t)
	held := uuid.UUID{1}
	release := nb.hold(held)
	defer release()
	ls := nb.lanes(nb.config, 1)
	forged := make([]byte, 32)
	for range 3 {
		result, err := ls.Do(t.Context(), Call{
			Function: "release_lock", Workspace: held,
			Args: []any{forged, held.String(), 0, "LOCK_RELEASE", int64(0), "a", nil},
		})
		if err != nil || result.Code != "UNAUTHENTICATED" {
			t.Errorf("a forged key: %q, %v", result.Code, err)
		}
	}
}
