package webhooks_test

import (
	"encoding/json"
	"testing"

	"aanet/webhooks"
)

// A balance that falls below the mark is told once, with what it fell to; deliveries make it fall too.
func TestABalanceThatFell(t *testing.T) {
	w := newWorld(t)
	ws, r := w.Workspace(t, 1010), w.receiver(nil)
	h := w.register(ws, r.URL, webhooks.BalanceLow, webhooks.FileWrite)
	w.deliver(nil)
	ws.Owner.Write(t, "f", "x") // 1000 are left, which is the mark, and its delivery takes 2 of them
	got := r.wait(t, 2)
	var body struct {
		Type            string
		WebhookID       string `json:"webhook_id"`
		SubkeyID        any    `json:"subkey_id"`
		Balance         int64
		BalanceLowUnits int64 `json:"balance_low_units"`
	}
	if err := json.Unmarshal([]byte(got[1].body), &body); err != nil || body.Type != webhooks.BalanceLow || body.WebhookID != h.id ||
		body.Balance != 998 || body.BalanceLowUnits != 1000 || body.SubkeyID != nil || got[1].id() == got[0].id() {
		t.Errorf("%s (%v) after %s", got[1].body, err, got[0].body)
	}
	rows := h.settled(t, 2)
	ws.Owner.OK(t, "redeliver_events", args{"webhook_id": h.id, "delivery_id": rows[0]["delivery_id"]})
	if again := r.wait(t, 3)[2]; again.body != got[1].body || again.id() != got[1].id() {
		t.Errorf("%s, and again %s", got[1].body, again.body)
	}
	if n := len(r.got()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
