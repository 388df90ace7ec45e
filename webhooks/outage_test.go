package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

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
		due, err := w.Store.DueWebhooks(t.Context(), 1)
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
	due, err := w.Store.DueWebhooks(t.Context(), 2)
	found := slices.ContainsFunc(due, func(d store.DueWebhook) bool { return d.Webhook.String() == healthy.id })
	if err != nil || !found || len(due) != 3 {
		t.Errorf("%d due, the healthy one among them: %v, %v", len(due), found, err)
	}
}
