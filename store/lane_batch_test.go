package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestResultsGoToTheCallersThatAskedForThem(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	a, b := uuid.New(), uuid.New()
	ofA, ofB := askAll(a, numbered("a", 60)...), askAll(b, numbered("b", 60)...)
	refused := ask(a, "refuse this one")
	var mixed []*asked
	for i := range ofA {
		mixed = append(mixed, ofB[i], ofA[i])
	}
	serve(l, mixed, []*asked{refused})
	allOK(t, ofA, ofB)
	result, err := refused.answer(t)
	if err != nil || result.Code != "CONFLICT" || string(result.Info) != `{"label": "refuse this one"}` || refused.echo != "" {
		t.Errorf("refused call: %+v, echo %q, %v", result, refused.echo, err)
	}
	same(t, "order in a workspace", nb.labels(a), append(numbered("a", 60), "refuse this one")...)
	same(t, "order in a workspace", nb.labels(b), numbered("b", 60)...)
	if undone := undoneBatches(t, l.metrics); undone != 0 {
		t.Errorf("%d batches were undone", undone)
	}
}

// poison makes the calls that cannot succeed, each with a word of the error that its caller gets.
var poison = map[string]struct {
	make func(uuid.UUID) *asked
	want string
}{
	"a function that raises": {func(ws uuid.UUID) *asked { return ask(ws, "raise this") }, "as the label says"},
	"an unknown function": {func(ws uuid.UUID) *asked {
		a := ask(ws, "x")
		a.Function, a.key.function = "no_such_function", "no_such_function"
		return a
	}, "does not exist"},
	"too few arguments": {func(ws uuid.UUID) *asked {
		a := ask(ws, "x")
		a.Args, a.key.args = nil, 1
		return a
	}, "does not exist"},
	"an argument that cannot be encoded": {func(ws uuid.UUID) *asked {
		a := ask(ws, "x")
		a.Args = []any{make(chan int)}
		return a
	}, "encode"},
	"a text that Postgres does not take": {func(ws uuid.UUID) *asked { return ask(ws, "nul\x00") }, "22021"},
	"no place for a column": {func(ws uuid.UUID) *asked {
		a := ask(ws, "x")
		a.Into = nil
		return a
	}, "answers 5 columns"},
}

func TestAPoisonedCallHarmsNobodyElseInItsBatch(t *testing.T) {
	nb := openNotebook(t)
	for name, p := range poison {
		t.Run(name, func(t *testing.T) {
			l := nb.lane(nb.config)
			for _, round := range []string{"first connection", "statements known"} {
				before, own, after := uuid.UUID{1}, uuid.New(), uuid.UUID{0xff}
				before[15], after[15] = own[0], own[0]
				bad := p.make(own)
				ofBefore, ofAfter := askAll(before, numbered(round+" before", 3)...), askAll(after, numbered(round+" after", 3)...)
				first, last := askAll(own, numbered("own first", 3)...), askAll(own, numbered("own last", 3)...)
				nb.exec("delete from notes")
				serve(l, ofBefore, first, []*asked{bad}, last, ofAfter)
				allOK(t, ofBefore, first, last, ofAfter)
				_, err := bad.answer(t)
				if err == nil || !strings.Contains(err.Error(), p.want) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrUnknown) {
					t.Errorf("%s: the poisoned call got %v", round, err)
				}
				same(t, "the workspace's notes", nb.labels(own), append(numbered("own first", 3), numbered("own last", 3)...)...)
				same(t, "a neighbour's notes", nb.labels(before), numbered(round+" before", 3)...)
			}
		})
	}
}

// The caller's goroutine encodes when the statement is known, a lane otherwise: both must isolate.
func TestAnArgumentThatCannotBeEncodedIsNeverQueued(t *testing.T) {
	nb := openNotebook(t)
	ls := nb.lanes(nb.config, 1)
	var echo string
	for _, label := range []any{"fine", make(chan int), "fine"} {
		call := noteCall(uuid.New(), "", &echo)
		call.Args = []any{label}
		_, err := ls.Do(t.Context(), call)
		if _, sendable := label.(string); sendable != (err == nil) || errors.Is(err, ErrUnknown) || errors.Is(err, ErrUnavailable) {
			t.Errorf("%T: %v", label, err)
		}
	}
}

func TestAnAnswerThatCannotBeReadConcernsItsCallerOnly(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	ws := uuid.New()
	odd, neighbour := ask(ws, "odd"), ask(ws, "neighbour")
	var number int64
	odd.Into = []any{&number} // for a text
	serve(l, []*asked{odd, neighbour})
	neighbour.ok(t)
	if _, err := odd.answer(t); err == nil || !strings.Contains(err.Error(), "column echo") {
		t.Errorf("the odd one got %v", err)
	}
	same(t, "notes", nb.labels(ws), "odd", "neighbour")
}

func TestSeveralPoisonedCallsCostOnlyThemselves(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	a, b := uuid.New(), uuid.New()
	good, bad := askAll(a, numbered("good", 40)...), askAll(a, numbered("raise", 3)...)
	neighbours := askAll(b, numbered("neighbour", 40)...)
	serve(l, bad[:1], good[:20], bad[1:2], good[20:], bad[2:], neighbours)
	allOK(t, good, neighbours)
	for _, p := range bad {
		if _, err := p.answer(t); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", p.label, err)
		}
	}
	same(t, "order", nb.labels(a), numbered("good", 40)...)
	if undone := undoneBatches(t, l.metrics); undone > 6 { // each alone, and once in company
		t.Errorf("%d batches were undone for three poisoned calls", undone)
	}
}

func TestAServerThatIsUnwellIsNoFaultOfTheCall(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	full := ask(uuid.New(), "disk full")
	serve(l, []*asked{full})
	if _, err := full.answer(t); !errors.Is(err, ErrUnavailable) {
		t.Errorf("disk full: %v", err)
	}
}

// A serialization failure is repeated inside, and nothing of the first try shows in the answers.
func TestABatchThatClashedIsSentAgain(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	ws := uuid.New()
	calls := askAll(ws, "change its mind", "plain", "clash once")
	serve(l, calls)
	allOK(t, calls)
	same(t, "notes", nb.labels(ws), "change its mind", "plain", "clash once")
	if undone := undoneBatches(t, l.metrics); undone != 1 {
		t.Errorf("%d batches were undone, want 1", undone)
	}
}

// A call that uses up its time is not given more, and the rest of its batch goes on without it.
func TestACallThatRunsTooLong(t *testing.T) {
	nb := openNotebook(t)
	l := nb.lane(nb.config)
	a, b := uuid.New(), uuid.New()
	slow, neighbours := ask(a, "run out of time"), askAll(b, "x", "y")
	serve(l, []*asked{slow}, neighbours)
	allOK(t, neighbours)
	if _, err := slow.answer(t); !errors.Is(err, ErrUnavailable) {
		t.Errorf("the slow one got %v", err)
	}
	same(t, "notes of the slow one", nb.labels(a))
	if undone := undoneBatches(t, l.metrics); undone != 1 {
		t.Errorf("%d batches were undone, want 1", undone)
	}
}
