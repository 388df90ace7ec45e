package webhooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"aanet/store"
	"aanet/webhooks"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// kinds are the types of events that were received, in order.
func kinds(requests []request) (all []string) {
	for _, r := range requests {
		all = append(all, r.headers.Get("X-AANet-Event"))
	}
	return all
}

func status(code int) func(int, http.ResponseWriter) {
	return func(_ int, rw http.ResponseWriter) { rw.WriteHeader(code) }
}

func TestEachEventArrivesOnceAndSigned(t *testing.T) {
	w := newWorld(t)
	w.deliver(func(o *webhooks.Options) { o.Window = 1 })
	ws, r := w.Workspace(t, 10_000), w.receiver(nil)
	h := w.register(ws, r.URL+"/hook?a=1")
	a := ws.Mint(t)

	etag := a.Write(t, "notes/é <&>.md", "text")
	appended := ws.Owner.Append(t, "notes/é <&>.md", "more")
	ws.Owner.OK(t, "delete_file", args{"path": "notes/é <&>.md"})
	a.Acquire(t, "build", 60)
	a.OK(t, "release_lock", args{"name": "build"})
	a.Acquire(t, "deploy", 60)
	ws.Revoke(t, a)
	b := ws.Mint(t)
	sent := ws.Owner.OK(t, "send_message", args{"body": "secret text", "to_subkey_id": b.ID})
	ws.Owner.OK(t, "ping_webhook", args{"webhook_id": h.id})
	// No events: refused, read, expired.
	ws.Owner.Refused(t, "NOT_FOUND", "delete_file", args{"path": "none"})
	ws.Owner.Refused(t, "CONFLICT", "write_file", args{"path": "x", "content": "", "if_match": "old"})
	b.Acquire(t, "expires", 1)

	got := r.wait(t, 7)
	want := []string{"file_write", "file_write", "file_delete", "lock_available", "lock_available", "message", "ping"}
	if !slices.Equal(kinds(got), want) {
		t.Fatalf("got %v, want %v", kinds(got), want)
	}
	for i, want := range []string{
		fmt.Sprintf(`"subkey_id":%q,"path":"notes/é <&>.md","etag":%q}`, a.ID, etag),
		fmt.Sprintf(`"subkey_id":null,"path":"notes/é <&>.md","etag":%q}`, appended),
		`"subkey_id":null,"path":"notes/é <&>.md"}`,
		fmt.Sprintf(`"subkey_id":%q,"lock_name":"build"}`, a.ID),
		`"subkey_id":null,"lock_name":"deploy"}`,
		fmt.Sprintf(`"subkey_id":null,"message_id":%q,"to_subkey_id":%q}`, sent.Text("message_id"), b.ID),
		fmt.Sprintf(`"subkey_id":null,"webhook_id":%q}`, h.id),
	} {
		if !strings.HasSuffix(got[i].body, want) {
			t.Errorf("body %d\n got %s\nwant …%s", i, got[i].body, want)
		}
	}
	verifier, err := standardwebhooks.NewWebhook(h.secret)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, q := range got {
		var head struct {
			ID, Type, TS string
			WorkspaceID  string `json:"workspace_id"`
			Seq          int64
		}
		if err := json.Unmarshal([]byte(q.body), &head); err != nil || head.ID != q.id() || head.WorkspaceID != ws.ID || head.Seq == 0 || seen[head.ID] {
			t.Errorf("body %s with webhook-id %s: %v", q.body, q.id(), err)
		}
		seen[head.ID] = true
		if err := verifier.Verify([]byte(q.body), q.headers); err != nil {
			t.Errorf("the official library: %v", err)
		}
		if signature := hmacHex(h.secret, q.body); q.headers.Get("X-AANet-Signature") != signature {
			t.Errorf("X-AANet-Signature is %s, want %s", q.headers.Get("X-AANet-Signature"), signature)
		}
		if q.headers.Get("Content-Type") != "application/json" || q.headers.Get("X-AANet-Attempt") != "1" {
			t.Errorf("headers %v", q.headers)
		}
	}
	rows := h.settled(t, 7)
	if len(rows) != 7 || rows[0]["event_type"] != "ping" || rows[0]["success"] != true || rows[0]["error"] != nil {
		t.Errorf("%d deliveries, the newest %v", len(rows), rows[0])
	}
	paid := 0
	for _, row := range ws.Log(t) {
		if row.Operation == "WEBHOOK_DELIVERY" {
			paid++
			delivery := slices.IndexFunc(rows, func(d map[string]any) bool { return d["delivery_id"] == *row.Detail })
			if row.Status != "OK" || row.Cost != 2 || *row.Path != h.id || delivery < 0 {
				t.Errorf("log row %+v", row)
			}
		}
	}
	if paid != 7 {
		t.Errorf("%d attempts are in the log", paid)
	}
	ws.CheckLedger(t)
	w.sound()
}

func TestAFailedAttemptIsMadeAgainWithTheSameIDAndBody(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(func(n int, rw http.ResponseWriter) {
		if n < 4 {
			rw.WriteHeader(500)
		}
	})
	h := w.register(ws, r.URL)
	ws.Owner.Write(t, "a", "x")
	got := r.wait(t, 4)
	for i, q := range got {
		if q.id() != got[0].id() || q.body != got[0].body || q.headers.Get("X-AANet-Signature") != got[0].headers.Get("X-AANet-Signature") {
			t.Errorf("attempt %d differs: %v %s", i+1, q.headers, q.body)
		}
		if q.headers.Get("X-AANet-Attempt") != fmt.Sprint(i+1) {
			t.Errorf("attempt %d says it is number %s", i+1, q.headers.Get("X-AANet-Attempt"))
		}
	}
	rows := h.settled(t, 4)
	if rows[0]["success"] != true || rows[1]["success"] != false || rows[1]["error"] != "answered 500" {
		t.Errorf("deliveries %v", rows)
	}
	ws.CheckLedger(t)
}

func TestTenFailedAttemptsInARowDisable(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(status(302))
	h := w.register(ws, r.URL)
	for i := range 30 {
		ws.Owner.Write(t, fmt.Sprint("f", i), "x")
	}
	eventually(t, "disabled", func() bool { return h.state(t)["active"] == false })
	rows := h.settled(t, 10)
	if len(rows) != 10 || len(r.got()) != 10 || h.state(t)["disabled_reason"] != "failing" {
		t.Errorf("%d attempts, %d requests, %v", len(rows), len(r.got()), h.state(t))
	}
	ws.Owner.Refused(t, "WEBHOOK_DISABLED", "ping_webhook", args{"webhook_id": h.id})
	ws.Owner.Write(t, "after", "x")
	ws.CheckLedger(t)
}

func TestGoneDisablesAtOnceAndEnableResumes(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(func(n int, rw http.ResponseWriter) {
		if n == 1 {
			rw.WriteHeader(410)
		}
	})
	h := w.register(ws, r.URL)
	before := ws.Owner.OK(t, "send_message", args{"body": "x"}).Text("ts")
	eventually(t, "disabled", func() bool { return h.state(t)["active"] == false })
	if h.state(t)["disabled_reason"] != "gone" {
		t.Errorf("%v", h.state(t))
	}
	ws.Owner.Write(t, "missed", "x")
	if row := ws.Owner.OK(t, "enable_webhook", args{"webhook_id": h.id}); row.Body["active"] != true || row.Text("url") != r.URL {
		t.Errorf("enabled: %v", row.Body)
	}
	if got := r.wait(t, 2); got[1].id() != got[0].id() {
		t.Error("what waited did not come first")
	}
	h.settled(t, 2)
	again := ws.Owner.OK(t, "redeliver_events", args{"webhook_id": h.id, "since": before})
	if again.Int("queued") != 1 || again.Body["more"] != false {
		t.Errorf("redelivered since: %v", again.Body)
	}
	if got := r.wait(t, 3); got[2].headers.Get("X-AANet-Event") != "file_write" {
		t.Errorf("missed: %v", kinds(got))
	}
	first := h.settled(t, 3)[0]["delivery_id"]
	if once := ws.Owner.OK(t, "redeliver_events", args{"webhook_id": h.id, "delivery_id": first}); once.Int("queued") != 1 {
		t.Errorf("redelivered once more: %v", once.Body)
	}
	if got := r.wait(t, 4); got[3].id() != got[2].id() || got[3].body != got[2].body {
		t.Error("the redelivered event differs")
	}
	h.settled(t, 4)
	ws.CheckLedger(t)
}

func TestRetryAfterIsHonoured(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws := w.Workspace(t, 10_000)
	r := w.receiver(func(n int, rw http.ResponseWriter) {
		if n == 1 {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(503)
		}
	})
	w.register(ws, r.URL)
	ws.Owner.Write(t, "a", "x")
	got := r.wait(t, 2)
	if waited := got[1].at.Sub(got[0].at); waited < time.Second {
		t.Errorf("waited %v", waited)
	}
}

func TestWithoutMoneyNothingIsSentAndOneRowSaysSo(t *testing.T) {
	w := newWorld(t)
	ws, r := w.Workspace(t, 21), w.receiver(nil)
	h := w.register(ws, r.URL)
	ws.Owner.Write(t, "a", "x")
	ws.Owner.Write(t, "b", "x") // leaves 1 unit: half an attempt
	w.deliver(nil)
	short := func() (n int) {
		for _, row := range ws.Log(t) {
			if row.Operation == "WEBHOOK_DELIVERY" && row.Status == "INSUFFICIENT_BALANCE" {
				n++
			}
		}
		return n
	}
	eventually(t, "a row", func() bool { return short() == 1 })
	if n := len(r.got()); n != 0 {
		t.Errorf("%d were delivered without money", n)
	}
	ws.CheckLedger(t)
	ws.Credit(t, 100)
	r.wait(t, 2)
	if h.settled(t, 2); short() != 1 || h.state(t)["active"] != true {
		t.Errorf("%d rows, %v", short(), h.state(t))
	}
	ws.CheckLedger(t)
}

func TestABlockedWorkspaceWaits(t *testing.T) {
	w := newWorld(t)
	ws, r := w.Workspace(t, 1000), w.receiver(nil)
	h := w.register(ws, r.URL)
	ws.Owner.Write(t, "a", "x")
	ws.Block(t, true)
	due, err := w.Store.DueWebhooks(t.Context(), lookFor(10))
	if err != nil || len(due) != 1 {
		t.Fatalf("%v %v", due, err)
	}
	begun, err := w.begin(due[0], 4, time.Minute)
	if err != nil || begun.Code != "WORKSPACE_BLOCKED" {
		t.Errorf("begun %+v, %v", begun, err)
	}
	ws.Block(t, false)
	w.shiftDue(ws.ID)
	w.deliver(nil)
	r.wait(t, 1)
	h.settled(t, 1)
	ws.CheckLedger(t)
}

func TestDeletingEndsDeliveries(t *testing.T) {
	w := newWorld(t)
	ws := w.Workspace(t, 10_000)
	arrived, answer := make(chan struct{}, 99), make(chan struct{})
	r := w.receiver(func(int, http.ResponseWriter) { arrived <- struct{}{}; <-answer })
	h := w.register(ws, r.URL)
	e := w.deliver(func(o *webhooks.Options) { o.Window = 1 })
	for i := range 10 {
		ws.Owner.Write(t, fmt.Sprint(i), "x")
	}
	<-arrived
	ws.Owner.OK(t, "delete_webhook", args{"webhook_id": h.id})
	ws.Owner.Refused(t, "NOT_FOUND", "get_webhook_deliveries", args{"webhook_id": h.id})
	ws.Owner.Refused(t, "NOT_FOUND", "delete_webhook", args{"webhook_id": h.id})
	close(answer)
	ws.Owner.Write(t, "later", "x")
	w.stop(e)
	if len(r.got()) != 1 {
		t.Errorf("%d requests after it was deleted", len(r.got())-1)
	}
	ws.CheckLedger(t)
	gone := w.Workspace(t, 1000)
	w.register(gone, r.URL)
	gone.Owner.Write(t, "a", "x")
	gone.Owner.OK(t, "delete_workspace", nil)
	w.stop(w.deliver(nil))
	if due, err := w.Store.DueWebhooks(t.Context(), lookFor(10)); err != nil || len(r.got()) != 1 {
		t.Errorf("a deleted workspace delivered %d (%v, %v)", len(r.got())-1, due, err)
	}
	w.sound()
}

func TestRotationSignsWithBoth(t *testing.T) {
	w := newWorld(t)
	w.deliver(nil)
	ws, r := w.Workspace(t, 1000), w.receiver(nil)
	h := w.register(ws, r.URL, "message")
	rotated := ws.Owner.OK(t, "rotate_webhook_secret", args{"webhook_id": h.id}).Text("secret")
	if rotated == h.secret || !strings.HasPrefix(rotated, "whsec_") {
		t.Errorf("rotated to %q", rotated)
	}
	ws.Owner.Send(t, "x")
	q := r.wait(t, 1)[0]
	for _, secret := range []string{h.secret, rotated} {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil || verifier.Verify([]byte(q.body), q.headers) != nil {
			t.Errorf("one of both secrets does not verify %s", q.headers.Get("webhook-signature"))
		}
	}
	if q.headers.Get("X-AANet-Signature") != hmacHex(rotated, q.body) || q.headers.Get("X-AANet-Signature-Previous") != hmacHex(h.secret, q.body) {
		t.Errorf("headers %v", q.headers)
	}
}

// begin starts attempts as an engine that then dies does.
func (w *world) begin(d store.DueWebhook, window int, lease time.Duration) (begun, error) {
	w.t.Helper()
	worker := uuid.New()
	ids := make([]uuid.UUID, window)
	for i := range ids {
		ids[i] = uuid.New()
	}
	b, err := w.Store.BeginAttempts(w.t.Context(), store.Begin{
		Workspace: d.Workspace, Webhook: d.Webhook, Worker: worker, Lease: lease, Price: 2, IDs: ids, Keep: time.Hour,
	})
	return begun{b, worker}, err
}

// begun is what a worker began.
type begun struct {
	store.Begun
	worker uuid.UUID
}

func TestWhatADeadWorkerHadBegunIsUnknownAndSentAgain(t *testing.T) {
	w := newWorld(t)
	ws, r := w.Workspace(t, 1000), w.receiver(nil)
	h := w.register(ws, r.URL)
	for i := range 3 {
		ws.Owner.Write(t, fmt.Sprint(i), "x")
	}
	due, err := w.Store.DueWebhooks(t.Context(), lookFor(10))
	if err != nil || len(due) != 1 {
		t.Fatalf("%v %v", due, err)
	}
	begun, err := w.begin(due[0], 2, time.Hour)
	if err != nil || len(begun.Attempts) != 2 {
		t.Fatalf("%+v %v", begun, err)
	}
	if second, err := w.begin(due[0], 2, time.Minute); err != nil || second.Code != "NOT_DUE" {
		t.Errorf("a second worker: %+v %v", second, err)
	}
	if rows := h.deliveries(t); len(rows) != 2 || rows[0]["error"] != "in flight" || rows[0]["success"] != false {
		t.Errorf("under way: %v", rows)
	}
	w.shiftDue(ws.ID) // the lease has ended
	w.deliver(nil)
	got := r.wait(t, 3)
	rows := h.settled(t, 5)
	unknown := 0
	for _, row := range rows {
		if row["error"] == "unknown" {
			unknown++
		}
	}
	if len(got) != 3 || unknown != 2 || h.state(t)["active"] != true {
		t.Errorf("%d requests, %d unknown, deliveries %v", len(got), unknown, rows)
	}
	// The dead one comes back to life: it may record, and changes nothing else.
	_, err = w.Store.FinishAttempts(context.Background(), store.Finish{
		Workspace: due[0].Workspace, Webhook: due[0].Webhook, Worker: uuid.New(), FailuresMax: 1, AttemptsMax: 1,
		Outcomes: []store.Outcome{{Attempt: begun.Attempts[0], Result: store.AttemptFailed, Error: "late"}},
	})
	if err != nil || h.state(t)["active"] != true {
		t.Errorf("a late worker: %v, %v", err, h.state(t))
	}
	ws.CheckLedger(t)
	w.sound()
}
