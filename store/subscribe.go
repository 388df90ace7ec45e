package store

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// makesEvents are the functions whose success may be an event (functions/event_of.sql), lets events that
// waited go on, or sends those who wait away.
var makesEvents = map[string]bool{
	"write_file": true, "append_file": true, "delete_file": true, "release_lock": true, "revoke_subkey": true, "send_message": true,
	"ping_webhook": true, "redeliver_events": true, "enable_webhook": true, "operator_credit": true, "operator_block": true,
	"update_subkey": true, "rotate_key": true, "delete_workspace": true, "expire_trial": true,
	"move_deposit": true, "operator_refund": true, "operator_deposit": true, "operator_webhook": true,
}

// hub tells the subscribers of this process about committed calls.
type hub struct {
	told func(workspace uuid.UUID, c Change) // of each Call.Tell that was committed; nil: nobody
	mu   sync.Mutex
	list atomic.Pointer[[]*subscription]
}

type subscription struct{ call func([]uuid.UUID) }

// Subscribe lets f be called right after each commit in which calls of this process succeeded that may
// be events, with their workspaces, until the subscription is cancelled. A lane waits for f: it must not
// block. What other processes commit is not told.
func (s *Store) Subscribe(f func(workspaces []uuid.UUID)) (cancel func()) {
	return s.lanes.hub.subscribe(f)
}

func (h *hub) subscribe(f func([]uuid.UUID)) (cancel func()) {
	own := &subscription{f}
	h.change(func(all []*subscription) []*subscription { return append(all, own) })
	return func() {
		h.change(func(all []*subscription) []*subscription {
			return slices.DeleteFunc(all, func(s *subscription) bool { return s == own })
		})
	}
}

func (h *hub) change(by func([]*subscription) []*subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*subscription
	if old := h.list.Load(); old != nil {
		all = slices.Clone(*old)
	}
	all = by(all)
	h.list.Store(&all)
}

// committed tells of a batch that was committed, ordered by workspace.
func (h *hub) committed(calls []*pending) {
	if h == nil {
		return
	}
	all := h.list.Load()
	if all == nil || len(*all) == 0 {
		return
	}
	var workspaces []uuid.UUID
	for _, p := range calls {
		succeeded := len(p.row) > 0 && p.row[0] == nil
		if succeeded && p.Tell.Message != nil && h.told != nil {
			h.told(p.Workspace, p.Tell)
		}
		if succeeded && makesEvents[p.Function] && (len(workspaces) == 0 || workspaces[len(workspaces)-1] != p.Workspace) {
			workspaces = append(workspaces, p.Workspace)
		}
	}
	if len(workspaces) == 0 {
		return
	}
	for _, s := range *all {
		s.call(workspaces)
	}
}
