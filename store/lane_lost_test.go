package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// outcome is what one batch of three calls told its callers.
func outcome(t *testing.T, calls []*asked) error {
	t.Helper()
	_, first := calls[0].answer(t)
	for _, a := range calls[1:] {
		_, err := a.answer(t)
		if errors.Is(err, ErrUnknown) != errors.Is(first, ErrUnknown) || (err == nil) != (first == nil) {
			t.Errorf("calls of one batch were told %v and %v", first, err)
		}
		if err != nil && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", a.label, err)
		}
	}
	return first
}

// A connection is cut after every few bytes of a batch, in either direction. Whatever the callers
// are told must be true of the table, and nothing may happen twice.
func TestAConnectionLostAtAnyPointNeitherRepeatsNorInvents(t *testing.T) {
	nb := openNotebook(t)
	px := openProxy(nb)
	l := nb.lane(px.config)
	told := map[string]int{}
	for _, where := range []direction{toServer, toClient} {
		nb.known(l)
		px.fail(nil)
		serve(l, askAll(uuid.New(), "a", "b", "c"))
		length := px.count()[where]
		for after := 0; after < length; after += 1 + length/40 {
			nb.known(l)
			px.fail(&fault{where: where, after: after})
			ws := uuid.New()
			calls := askAll(ws, "a", "b", "c")
			serve(l, calls)
			err := outcome(t, calls)
			nb.settled()
			switch made := nb.labels(ws); {
			case err == nil && !slices.Equal(made, []string{"a", "b", "c"}):
				t.Errorf("cut %d/%d: answered OK, made %q", where, after, made)
			case errors.Is(err, ErrUnavailable) && len(made) != 0:
				t.Errorf("cut %d/%d: answered that nothing happened, made %q", where, after, made)
			case len(made) != 0 && !slices.Equal(made, []string{"a", "b", "c"}):
				t.Errorf("cut %d/%d: made %q: a part, or twice", where, after, made)
			case len(made) != 0 && err != nil:
				told["unknown, was made"]++
			case errors.Is(err, ErrUnknown):
				told["unknown, was not made"]++
			}
			px.fail(nil)
		}
	}
	// The cuts must have met both sides of the commit, or the test shows nothing.
	if told["unknown, was made"] == 0 || told["unknown, was not made"] == 0 {
		t.Errorf("the cuts met only %v", told)
	}
}

func TestAnAnswerToTheCommitThatIsLostIsUnknown(t *testing.T) {
	nb := openNotebook(t)
	px := openProxy(nb)
	l := nb.lane(px.config)
	nb.known(l)
	px.fail(&fault{where: toClient, swallow: true})
	ws := uuid.New()
	calls := askAll(ws, "a", "b")
	serve(l, calls)
	for _, a := range calls {
		if _, err := a.answer(t); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, want ErrUnknown", a.label, err)
		}
	}
	same(t, "made once", nb.labels(ws), "a", "b")
	again := ask(ws, "c")
	serve(l, []*asked{again})
	again.ok(t)
}

func TestAConnectionLostBeforeAnythingWasSentIsUnavailableOrRedialled(t *testing.T) {
	nb := openNotebook(t)
	px := openProxy(nb)
	l := nb.lane(px.config)
	for name, lose := range map[string]func(){
		"while a statement is prepared": func() {
			clear(l.prepared)
			l.conn.Deallocate(t.Context(), callKey{"note", 2}.name())
			px.fail(&fault{where: toServer, after: 10})
		},
		"and no new one can be had": func() { l.disconnect(); px.goAway() },
	} {
		nb.known(l)
		lose()
		ws := uuid.New()
		a := ask(ws, "a")
		serve(l, []*asked{a})
		if _, err := a.answer(t); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", name, err)
		}
		px.fail(nil)
		px.comeBack()
		l.failed = time.Time{}
		same(t, name, nb.labels(ws))
	}
	t.Run("and was idle", func(t *testing.T) {
		nb.known(l)
		px.goAway()
		px.comeBack()
		l.used = time.Now().Add(-2 * idleMax)
		a := ask(uuid.New(), "a")
		serve(l, []*asked{a})
		a.ok(t)
	})
}

// The server says that it ends the connection, so it is known that the batch was undone.
func TestAConnectionThatTheServerEndsMidway(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 1)
	ws := uuid.New()
	errs := make(chan error, 1)
	go func() {
		var echo string
		_, err := ls.Do(context.Background(), noteCall(ws, "sleep 30", &echo))
		errs <- err
	}()
	nb.until("the call is running and its connection is ended", `select coalesce(bool_or(pg_terminate_backend(pid)), false)
		from pg_stat_activity where datname = current_database() and application_name like 'aanet lane%'
		and state = 'active' and wait_event = 'PgSleep'`)
	if err := <-errs; !errors.Is(err, ErrUnavailable) {
		t.Errorf("the call got %v, want ErrUnavailable", err)
	}
	same(t, "undone", nb.labels(ws))
	var echo string
	if _, err := ls.Do(t.Context(), noteCall(ws, "next", &echo)); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestPostgresAwayAndBack(t *testing.T) {
	nb := openNotebook(t)
	px := openProxy(nb)
	ls := nb.lanes(px.config, 2)
	ws := uuid.New()
	do := func(label string) error {
		var echo string
		_, err := ls.Do(t.Context(), noteCall(ws, label, &echo))
		return err
	}
	if err := do("before"); err != nil {
		t.Fatal(err)
	}
	px.goAway()
	if err := do("the first that meets it"); !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknown) {
		t.Errorf("the first: %v", err)
	}
	started := time.Now()
	for range 50 {
		if err := do("during"); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("during: %v", err)
		}
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("fifty refusals took %v", took)
	}
	px.comeBack()
	eventually(t, "calls are taken again", func() bool { return do("after") == nil })
	same(t, "made", nb.labels(ws), "before", "after")
}
