package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
)

// Each order lists every living workspace once, page by page.
func TestListsOfWorkspacesAreComplete(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	var living []string
	for n := range 23 {
		id := uuid.Must(uuid.NewV7())
		a := b.open(id, nil)
		for range n % 3 {
			a.must(a.write(nil, "f", "text"))
		}
		if n%5 == 0 {
			if err := b.Block(t.Context(), because, id, true); err != nil {
				t.Fatal(err)
			}
		}
		if n == 7 {
			a.delete()
			continue
		}
		living = append(living, id.String())
	}
	b.rollUp()
	for _, order := range []string{store.NewestFirst, store.RichestFirst, store.BusiestFirst} {
		if got := b.listAll(order, 4); !slices.Equal(slices.Sorted(slices.Values(got)), living) {
			t.Errorf("%s lists %d workspaces, want %d", order, len(got), len(living))
		}
	}
	if newest := b.listAll(store.NewestFirst, 100); !slices.IsSortedFunc(newest, func(a, b string) int { return -slices.Compare([]byte(a), []byte(b)) }) {
		t.Errorf("the newest do not come first: %v", newest)
	}
	if blocked := b.listAll(store.BlockedOnly, 2); len(blocked) != 5 {
		t.Errorf("%d are blocked, want 5", len(blocked))
	}
}

func (b *books) listAll(order string, limit int) (ids []string) {
	b.t.Helper()
	var after *store.WorkspacePlace
	rank := int64(1<<63 - 1)
	for {
		page, err := b.ListWorkspaces(b.t.Context(), order, after, limit)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, w := range page {
			ids = append(ids, w.ID.String())
			if w.Rank > rank {
				b.t.Errorf("%s: %d comes after %d", order, w.Rank, rank)
			}
			rank = w.Rank
			after = &store.WorkspacePlace{ID: w.ID, Rank: w.Rank}
			if w.Day != nil {
				after.Day = *w.Day
			}
		}
		if len(page) < limit {
			return ids
		}
	}
}

// The history ends with the balance of now, and each step is the one before with what came and went in it.
func TestBalanceHistory(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil) // with a credit of 1,000 units
	now := time.Now().UTC().Truncate(time.Hour).Add(30 * time.Minute)
	at := func(hours float64) time.Time { return now.Add(-time.Duration(hours * float64(time.Hour))) }
	b.exec(`update adjustments set created_at = $2 where workspace_id = $1`, a.id, at(5.2))
	b.exec(`update workspaces set created_at = $2, seq = 5, last_ts = $3, balance = 1000 + 500 - 200 + 200 - 300 - 60, changed_hour = date_bin('1 hour', now(), 'epoch') where workspace_id = $1`, a.id, at(5.3), at(0.1))
	b.exec(`delete from activity where workspace_id = $1`, a.id)
	b.exec(`insert into activity (workspace_id, seq, ts, operation, cost, status) values
		($1, 1, $2, 'CREATE_WORKSPACE', 0, 'OK'), ($1, 2, $3, 'PUT_FILE', 10, 'OK'), ($1, 3, $4, 'PUT_FILE', 20, 'OK'), ($1, 4, $4::timestamptz + interval '1 second', 'GET_FILE', 0, 'NOT_FOUND'), ($1, 5, $5, 'PUT_FILE', 30, 'OK')`,
		a.id, at(5.3), at(4), at(2.1), at(0.1))
	b.exec(`insert into deposits (workspace_id, deposit_id, state, units, network, created_at, resolved_at) values ($1, $2, 'credited', 500, 'eip155:8453', $3, $3), ($1, $4, 'failed', 900, 'eip155:8453', $3, $3)`,
		a.id, uuid.New(), at(3.2), uuid.New())
	b.exec(`insert into refunds (workspace_id, refund_id, state, units, fee, network, destination, requested_at, resolved_at) values
		($1, $2, 'rejected', 200, 10, 'base', '0x', $3, $4), ($1, $5, 'paid', 300, 10, 'base', '0x', $4, $6)`, a.id, uuid.New(), at(3.1), at(1.2), uuid.New(), at(0.2))
	want := []string{"1000 0 1 0", "990 10 1 0", "1290 0 0 0", "1270 20 2 1", "1170 0 0 0", "1140 30 1 0"}
	for _, counted := range []bool{false, true} {
		if counted {
			b.rollUp()
		}
		points, err := b.BalanceHistory(t.Context(), a.id, now, time.Hour, 24)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range points {
			got = append(got, fmt.Sprint(p.Balance, p.Units, p.Calls, p.Refusals))
		}
		if !slices.Equal(got, want) {
			t.Errorf("counted %v: %q, want %q", counted, got, want)
		}
		if last := points[len(points)-1]; !last.At.Equal(now) {
			t.Errorf("the last point is at %s, not now (%s)", last.At, now)
		}
	}
}

// A page of the log looks at so many rows and says where to look on, so that rare rows far back are all found.
func TestViewActivityIsCompleteAndBounded(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	a.addRows(2*store.ActivityLook+500, time.Millisecond)
	b.exec(`update activity set operation = 'RARE' where workspace_id = $1 and seq in (1, 2, 300, 25000)`, a.id)
	var found []int64
	steps := 0
	for before := int64(0); ; steps++ {
		rows, next, err := b.ViewActivity(t.Context(), a.id, store.ActivityView{Operation: "RARE", Before: before, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			found = append(found, r.Seq)
		}
		if next == 0 {
			break
		}
		before = next
	}
	if !slices.Equal(found, []int64{25000, 300, 2, 1}) || steps > 5 {
		t.Errorf("found %v in %d steps", found, steps+1)
	}
	refused, _, err := b.ViewActivity(t.Context(), a.id, store.ActivityView{Refused: true, Limit: 10})
	if err != nil || len(refused) != 10 || refused[0].Status == "OK" {
		t.Errorf("refusals: %v, %v", refused, err)
	}
}

func TestOverviewIsExactBetweenPasses(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, _ := b.busy()
	b.open(uuid.New(), new(time.Hour))
	for round := range 2 {
		if round == 1 {
			b.rollUp()
			a.must(a.write(nil, "f", "text"))
			gone, _ := b.busy()
			gone.delete()
		}
		o, err := b.Overview(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owed := b.number("select sum(balance)::bigint from workspaces")
		if o.Alive != 2 || o.Trials != 1 || o.Blocked != 0 || o.Owed != owed {
			t.Errorf("round %d: %d alive, %d trials, %d blocked, %d owed (want %d)", round, o.Alive, o.Trials, o.Blocked, o.Owed, owed)
		}
	}
	minute := time.Now().Truncate(time.Minute)
	for range 2 { // told twice, counted once
		err := b.AddAnswered(t.Context(), minute, []store.Answered{{Code: "OK", Bucket: 3, Calls: 98}, {Code: "OK", Bucket: -1, Calls: 50}, {Code: "NOT_FOUND", Bucket: 9, Calls: 2}})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.rollUp()
	o, err := b.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total, refused := o.Answers.Total(), o.Answers.Of("NOT_FOUND")
	if total.Hour != 150 || total.Day != 150 || total.Month != 150 || refused.Hour != 2 {
		t.Errorf("answers: %+v, refused %+v", total, refused)
	}
	if o.SlowestHour == nil || *o.SlowestHour != store.AnswerBounds[9] {
		t.Errorf("99 of 100 within %v", o.SlowestHour)
	}
	if o.ActiveHour != 2 || o.ActiveDay != 2 || o.ActiveMonth != 2 {
		t.Errorf("active were %d, %d, %d", o.ActiveHour, o.ActiveDay, o.ActiveMonth)
	}
	if units, spent := o.Log.Total().Units, b.number("select sum(cost)::bigint from activity"); units != spent {
		t.Errorf("the overview says %d units, the logs %d", units, spent)
	}
}

// Deposits count in the windows that they came in; open ones count as open whenever that was.
func TestOverviewOfDeposits(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	for _, d := range []struct {
		state, age string
		units      int
	}{{"credited", "1 minute", 5}, {"credited", "2 hours", 10}, {"credited", "29 days", 100}, {"credited", "31 days", 1000}, {"unknown", "20 minutes", 3}, {"unknown", "40 days", 7}, {"received", "50 days", 9}} {
		b.exec(`insert into deposits (workspace_id, deposit_id, state, units, network, created_at) values ($1, $2, $3, $4, 'eip155:8453', now() - $5::text::interval)`, a.id, uuid.New(), d.state, d.units, d.age)
	}
	o, err := b.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []store.DepositSum{
		{Network: "eip155:8453", State: "credited", Hour: 1, Day: 2, Month: 3, Units: 115},
		{Network: "eip155:8453", State: "received", Open: 1},
		{Network: "eip155:8453", State: "unknown", Hour: 1, Day: 1, Month: 1, Open: 2, Units: 3},
	}
	if !slices.Equal(o.Deposits, want) {
		t.Errorf("deposits: %+v, want %+v", o.Deposits, want)
	}
	if o.DepositsOpen != 3 || o.DepositsStuck != 3 {
		t.Errorf("%d are open, %d stuck", o.DepositsOpen, o.DepositsStuck)
	}
}

// Feedback comes by the amount that is pledged, page by page, and of equal pledges the newest first.
func TestFeedbackByPledge(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a := b.open(uuid.New(), nil)
	for i, pledge := range []string{"9", "1000", "250", "0", "250", "99.5"} {
		b.exec(`insert into feedback (workspace_id, feedback_id, category, title, description, pledged_budget_usd, created_at) values ($1, $2, 'bug', $3, '', $4::text::numeric, now() - $5 * interval '1 minute')`,
			a.id, uuid.New(), fmt.Sprint(pledge, " ", i), pledge, i)
	}
	var titles []string
	var after *store.Feedback
	for {
		page, err := b.FeedbackPage(t.Context(), store.FeedbackOpen, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, f := range page {
			titles = append(titles, f.Title)
		}
		after = &page[len(page)-1]
	}
	if want := []string{"1000 1", "250 2", "250 4", "99.5 5", "9 0", "0 3"}; !slices.Equal(titles, want) {
		t.Errorf("the order is %q, want %q", titles, want)
	}
}

func TestFind(t *testing.T) {
	b := openBooks(t, storetest.Database(t))
	a, other := b.open(uuid.Must(uuid.NewV7()), nil), b.open(uuid.Must(uuid.NewV7()), nil)
	_, subkey := a.mint()
	deposit, refund, webhook := uuid.New(), uuid.New(), uuid.New()
	evm, payer, wallet := "0x"+fmt.Sprintf("%064x", 255), "0x00000000000000000000000000000000000000Ab", "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"
	b.exec(`update keys set last4 = 'Qz19' where subkey_id = $1`, subkey)
	b.exec(`update workspaces set label = 'Ünder_score %' where workspace_id = $1`, a.id)
	b.exec(`insert into deposits (workspace_id, deposit_id, state, units, network, payer, tx_hash, created_at) values ($1, $2, 'credited', 5, 'eip155:8453', $3, $4, now())`, a.id, deposit, payer, evm)
	b.exec(`insert into refunds (workspace_id, refund_id, state, units, network, destination, tx_hash, requested_at) values ($1, $2, 'paid', 5, 'solana', $3, $4, now())`, a.id, refund, wallet, wallet+wallet)
	a.must(a.call(nil, "register_webhook", "REGISTER_WEBHOOK", 0, []any{webhook, "https://Hooks.Example.com:8443/x?y", []string{"message"}, 1, []byte{1}, nil, 5, 50, nil}, 0))
	for text, want := range map[string]string{
		a.id.String(): "workspace", subkey.String(): "key", "Qz19": "key", deposit.String(): "deposit", refund.String(): "refund", webhook.String(): "webhook",
		evm: "deposit", wallet + wallet: "refund", payer: "deposit", "0x00000000000000000000000000000000000000aB": "deposit", wallet: "refund",
		"hooks.example.com": "webhook", "HOOKS.example.com": "webhook", "Ünder_S": "workspace", "Ünder_score %": "workspace", " Qz19 ": "key",
	} {
		found, err := b.Find(t.Context(), text)
		if err != nil || len(found) != 1 || found[0].Kind != want || found[0].Workspace != a.id {
			t.Errorf("%q finds %v, %v; want a %s", text, found, err, want)
		}
	}
	// Of a frequent host the newest that are not deleted are shown.
	for i := range store.FoundMax + 5 {
		id := uuid.Must(uuid.NewV7())
		a.must(a.call(nil, "register_webhook", "REGISTER_WEBHOOK", 0, []any{id, fmt.Sprint("https://frequent.example/", i), []string{"message"}, 1, []byte{1}, nil, 50, 50, nil}, 0))
		b.exec(`update webhooks set created_at = now() + $2::integer * interval '1 second', deleted_at = case when $2::integer % 5 = 0 then now() end where webhook_id = $1`, id, i)
	}
	found, err := b.Find(t.Context(), "frequent.example")
	if err != nil || len(found) != store.FoundMax || !slices.IsSortedFunc(found, func(a, b store.Found) int { return b.At.Compare(a.At) }) {
		t.Errorf("a frequent host: %d %v, %v", len(found), found, err)
	}
	for _, garbage := range []string{
		"", " ", "%", "_", "qz19", "%%%%", "example.com", "7xkxtg2cw87d97txjsdpbd5jbkhetqa83tzrujosgasu", "0x" + fmt.Sprintf("%064x", 254), uuid.NewString(),
		"' or 1=1 --", "\xff\xfe"[:0], "label%", `\`, "..", "https://", "ünderXscore", "aan_o", "日本", other.id.String()[:8],
	} {
		found, err := b.Find(t.Context(), garbage)
		if err != nil || len(found) != 0 {
			t.Errorf("%q finds %v, %v", garbage, found, err)
		}
	}
}
