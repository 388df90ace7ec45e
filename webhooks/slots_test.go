package webhooks

import (
	"fmt"
	"testing"
	"time"

	"aanet/store"

	"github.com/google/uuid"
)

// due is an endpoint of a workspace that is due.
func due(workspace uuid.UUID, standing store.Standing, host string) store.DueWebhook {
	return store.DueWebhook{Workspace: workspace, Webhook: uuid.New(), Standing: standing, Host: host}
}

func newTable(size int) *slotTable {
	return newSlotTable(size, func() time.Time { return time.Time{} })
}

// takeAll offers endpoints and counts those that got a slot.
func (t *slotTable) takeAll(all []store.DueWebhook) (taken int) {
	for _, d := range all {
		if t.take(d) {
			taken++
		}
	}
	return taken
}

// workspacesOf are endpoints of workspaces with five each, at hosts of their own.
func workspacesOf(n int, standing store.Standing) (all []store.DueWebhook) {
	for range n {
		ws := uuid.New()
		for range 5 {
			all = append(all, due(ws, standing, uuid.NewString()))
		}
	}
	return all
}

func TestWhoeverDoesNotAnswerLeavesRoom(t *testing.T) {
	for _, c := range []struct {
		standing store.Standing
		most     int
	}{{store.Unproven, 64}, {store.Failing, 32}, {store.Prompt, 128}} {
		table := newTable(128)
		if n := table.takeAll(workspacesOf(200, c.standing)); n != c.most {
			t.Errorf("a thousand %s endpoints hold %d slots of 128, want %d", c.standing, n, c.most)
		}
		room := table.room(500)
		if want := c.standing != store.Prompt; (room.Prompt.Limit == 500) != want {
			t.Errorf("beside %s ones it looks for %d prompt ones", c.standing, room.Prompt.Limit)
		}
		if c.standing == store.Unproven && room.Unproven.Limit != 0 || c.standing == store.Failing && room.Failing.Limit != 0 {
			t.Errorf("full of %s ones it looks for %+v", c.standing, room)
		}
	}
	table := newTable(128)
	doubtful := table.takeAll(workspacesOf(200, store.Unproven)) + table.takeAll(workspacesOf(200, store.Failing))
	if n := table.takeAll(workspacesOf(200, store.Prompt)); n != 128-doubtful || n != 32 {
		t.Errorf("beside all others the prompt ones get %d slots", n)
	}
}

// 256 endpoints that nobody knows, of as few workspaces as can have them, leave a slot for another one that nobody knows.
func TestFreshBlackHolesLeaveRoomForAFreshEndpoint(t *testing.T) {
	table := newTable(defaultSlots)
	holes := workspacesOf(52, store.Unproven)
	first := table.takeAll(holes)
	if first >= table.shareOf(store.Unproven) || first < 52 {
		t.Errorf("%d slots are held by the fresh black holes of 52 workspaces", first)
	}
	if !table.take(due(uuid.New(), store.Unproven, "fresh.example")) {
		t.Error("a fresh endpoint of another workspace gets no slot")
	}
}

func TestOneHostHoldsAPart(t *testing.T) {
	table := newTable(128)
	crowd := func(standing store.Standing) {
		t.Helper()
		for range 100 {
			table.take(due(uuid.New(), standing, "one.example"))
		}
	}
	crowd(store.Unproven)
	crowd(store.Failing)
	if n := table.serving(); n != 16+8 {
		t.Errorf("those of one host that do not answer hold %d slots of 128", n)
	}
	if room := table.room(500); len(room.Prompt.Without) != 0 || len(room.Unproven.Without) != 1 || room.Failing.Without[0] != "one.example" {
		t.Errorf("it looks for %+v", room)
	}
	crowd(store.Prompt) // who answers there at once does not suffer for the others
	if n := table.serving(); n != 16+8+64 {
		t.Errorf("one host holds %d slots of 128", n)
	}
	for _, standing := range []store.Standing{store.Prompt, store.Unproven, store.Failing} {
		if !table.take(due(uuid.New(), standing, "two.example")) {
			t.Errorf("another host gets no slot for a %s one", standing)
		}
	}
}

// A workspace that makes and deletes endpoints while attempts at them hang holds no more than some slots.
func TestOneWorkspaceHoldsAPart(t *testing.T) {
	for _, standing := range []store.Standing{store.Prompt, store.Unproven, store.Failing} {
		table, ws := newTable(defaultSlots), uuid.New()
		for i := range 100 {
			table.take(due(ws, standing, fmt.Sprint(i)))
		}
		if n := table.serving(); n != workspaceMax {
			t.Errorf("%s: one workspace holds %d slots", standing, n)
		}
	}
}

// What is taken is given back, whatever the endpoint has shown meanwhile.
func TestSlotsComeBack(t *testing.T) {
	table := newTable(16)
	for range 3 {
		var taken []store.DueWebhook
		for _, standing := range []store.Standing{store.Failing, store.Unproven, store.Prompt} {
			for _, d := range workspacesOf(3, standing) {
				if table.take(d) {
					taken = append(taken, d)
				}
			}
		}
		for i, d := range taken {
			at := endpoint{d.Workspace, d.Webhook}
			if i%3 > 0 {
				table.answered(at, i%3 == 1)
			}
			if table.take(d) {
				t.Error("an endpoint is served twice")
			}
			if !table.give(at, 0) {
				t.Error("it was found due meanwhile, and nobody looks")
			}
		}
		if table.serving() != 0 || len(table.hosts) != 0 || len(table.workspaces) != 0 {
			t.Fatalf("left: %d slots, %v, %v", table.serving(), table.hosts, table.workspaces)
		}
		for standing, n := range table.classes {
			if n != 0 {
				t.Fatalf("%d slots are left to %s", n, standing)
			}
		}
	}
}

// One that answers late goes on while there is room, and makes room when there is none; one that answers at once leaves
// the share of the unknown.
func TestLateAnswersMakeRoom(t *testing.T) {
	table := newTable(64) // 32 for unproven ones, of which 8 go to whoever comes first
	d := due(uuid.New(), store.Unproven, "late.example")
	at := endpoint{d.Workspace, d.Webhook}
	table.take(d)
	if !table.answered(at, false) {
		t.Error("it must go although nobody waits")
	}
	table.takeAll(workspacesOf(30, store.Unproven))
	if table.answered(at, false) {
		t.Error("it goes on although others wait")
	}
	if !table.answered(at, true) || table.classes[store.Prompt] != 1 {
		t.Errorf("answered at once, it is counted among %v", table.classes)
	}
}
