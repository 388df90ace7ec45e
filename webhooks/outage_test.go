package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"
	"aanet/webhooks"

	"github.com/google/uuid"
)

// An event whose own failures disabled the webhook was not given up: enabling sends it, however often that happens.
func TestTheEventThatDisabledAWebhookStillWaits(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(func(n int, rw http.ResponseWriter) {
		if n <= 20 {
			rw.WriteHeader(500)
		}
	})
	h := w.register(ws, r.URL)
	ws.Owner.Write(t, "only", "x")
	for _, attempts := range []int{10, 20} {
		eventually(t, "disabled", func() bool { return h.state(t)["active"] == false })
		if rows := h.settled(t, attempts); len(rows) != attempts {
			t.Errorf("disabled after %d attempts, want %d", len(rows), attempts)
		}
		ws.Owner.OK(t, "enable_webhook", args{"webhook_id": h.id})
	}
	got := r.wait(t, 21)
	if rows := h.settled(t, 21); got[20].id() != got[0].id() || rows[0]["success"] != true || h.state(t)["active"] != true {
		t.Errorf("the last attempt: %v, %v", rows[0], h.state(t))
	}
	ws.CheckLedger(t)
}

// An event that fails ten times while others are delivered is given up: it would be tried, and charged, all day.
func TestAnEventThatAloneFailsIsGivenUp(t *testing.T) {
	w := newWorld(t)
	ws := w.Workspace(t, 10_000)
	h := w.register(ws, w.receiver(nil).URL)
	ws.Owner.Write(t, "poison", "x")
	for i := range 10 {
		if n, err := w.Store.WaitingEvents(t.Context(), uuid.MustParse(ws.ID)); err != nil || n != 1 {
			t.Fatalf("%d events wait before round %d, %v", n, i, err)
		}
		ws.Owner.Write(t, fmt.Sprint("fine", i), "x")
		due, err := w.Store.DueWebhooks(t.Context(), lookFor(1))
		if err != nil || len(due) != 1 {
			t.Fatalf("%v %v", due, err)
		}
		begun, err := w.begin(due[0], 2, time.Minute)
		if err != nil || len(begun.Attempts) != 2 || begun.Attempts[0].Number != i+1 {
			t.Fatalf("%+v %v", begun, err)
		}
		_, err = w.Store.FinishAttempts(t.Context(), store.Finish{
			Workspace: due[0].Workspace, Webhook: due[0].Webhook, Worker: begun.worker, FailuresMax: 10, AttemptsMax: 10,
			Outcomes: []store.Outcome{
				{Attempt: begun.Attempts[0], Result: store.AttemptFailed, Error: "answered 500"},
				{Attempt: begun.Attempts[1], Result: store.AttemptSucceeded, Status: 200},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := w.Store.WaitingEvents(t.Context(), uuid.MustParse(ws.ID)); err != nil || n != 0 || h.state(t)["active"] != true {
		t.Errorf("%d events wait, %v, %v", n, err, h.state(t))
	}
	ws.CheckLedger(t)
}

// However many endpoints fail and are overdue, one that does not is found.
func TestFailingEndpointsDoNotHideHealthyOnes(t *testing.T) {
	w := newWorld(t)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(nil)
	for range 3 {
		w.register(ws, r.URL)
	}
	healthy := w.register(ws, r.URL)
	ws.Owner.Write(t, "a", "x")
	storetest.Exec(t, w.DSN, `update webhooks set failures = 3, due_at = due_at - interval '1 minute' where webhook_id <> $1`, healthy.id)
	due, err := w.Store.DueWebhooks(t.Context(), lookFor(2))
	found := slices.ContainsFunc(due, func(d store.DueWebhook) bool { return d.Webhook.String() == healthy.id })
	if err != nil || !found || len(due) != 3 {
		t.Errorf("%d due, the healthy one among them: %v, %v", len(due), found, err)
	}
}

// More fresh endpoints than the engine has slots are black holes. One that answers gets its event all the same, whether it
// has shown before that it does or not: the holes are let go only after that.
func TestFreshBlackHolesDoNotHoldAllSlots(t *testing.T) {
	w := newWorld(t)
	w.deliver(func(o *webhooks.Options) { o.Slots, o.Timeout = 32, time.Hour })
	release := make(chan struct{})
	known, fresh := w.Workspace(t, 10_000), w.Workspace(t, 10_000)
	r := w.receiver(nil)
	w.register(known, r.URL, "message")
	known.Owner.Send(t, "shows that it answers")
	r.wait(t, 1)

	const workspaces, each = 8, 5
	holes := make([]*receiver, each)
	for i := range holes {
		holes[i] = w.receiver(func(int, http.ResponseWriter) { <-release })
	}
	other := w.receiver(nil)
	t.Cleanup(func() { close(release) }) // before the receivers close and the engine stops
	for range workspaces {
		ws := w.Workspace(t, 10_000)
		for _, hole := range holes {
			w.register(ws, hole.URL, "message")
		}
		ws.Owner.Send(t, "x")
	}
	tried := func() (n int) {
		for _, hole := range holes {
			n += len(hole.got())
		}
		return n
	}
	eventually(t, "an attempt for each workspace of the holes", func() bool { return tried() >= workspaces })
	w.register(fresh, other.URL, "message")
	fresh.Owner.Send(t, "x")
	other.wait(t, 1)
	for range 3 {
		known.Owner.Send(t, "x")
	}
	r.wait(t, 4)
	if n := tried(); n >= 16 {
		t.Errorf("%d attempts at fresh black holes, of 32 slots", n)
	}
}

// What is due is found beside more than is looked at: prompt ones beside unproven ones, the first of each workspace
// before the second of another, and none at hosts that are full.
func TestDueWebhooksAreFoundBesideOthers(t *testing.T) {
	w := newWorld(t)
	crowd, single := w.Workspace(t, 10_000), w.Workspace(t, 10_000)
	r, full := w.receiver(nil), w.receiver(nil)
	for range 4 {
		w.register(crowd, r.URL)
	}
	w.register(crowd, full.URL)
	crowd.Owner.Write(t, "a", "x")
	mine := w.register(single, strings.ToUpper(r.URL[:5])+r.URL[5:]+"/path?q")
	single.Owner.Write(t, "a", "x")
	list := func(room store.Room) (all []store.DueWebhook) {
		t.Helper()
		all, err := w.Store.DueWebhooks(t.Context(), room)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	isMine := func(d store.DueWebhook) bool { return d.Webhook.String() == mine.id }
	host := strings.TrimPrefix(r.URL, "https://")
	if got := list(store.Room{Unproven: store.Look{Limit: 2}}); len(got) != 2 || !slices.ContainsFunc(got, isMine) || got[0].Host != host {
		t.Errorf("of two workspaces it finds %+v", got)
	}
	if got := list(store.Room{Unproven: store.Look{Limit: 100, Without: []string{host}}}); len(got) != 1 || got[0].Host != strings.TrimPrefix(full.URL, "https://") {
		t.Errorf("at other hosts it finds %+v", got)
	}
	storetest.Exec(t, w.DSN, `update webhooks set prompt = true where webhook_id = $1`, mine.id)
	if got := list(store.Room{Prompt: store.Look{Limit: 1}}); len(got) != 1 || !isMine(got[0]) || got[0].Standing != store.Prompt {
		t.Errorf("of prompt ones it finds %+v", got)
	}
	found, err := w.Store.Find(t.Context(), "127.0.0.1") // in whichever case its address was written
	if err != nil || !slices.ContainsFunc(found, func(f store.Found) bool { return f.ID != nil && f.ID.String() == mine.id }) {
		t.Errorf("by its host an operator finds %+v, %v", found, err)
	}
	if got := list(store.Room{}); len(got) != 0 {
		t.Errorf("with room for none it finds %+v", got)
	}
}
