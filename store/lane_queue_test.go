package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// waiting makes a call for a queue that is never sent.
func waiting(ctx context.Context, workspace byte, size int) *pending {
	return newPending(ctx, Call{Workspace: uuid.UUID{workspace}, Size: size})
}

// fill puts n calls and returns them; the test fails if one is refused.
func fill(t *testing.T, q *queue, n int, workspace byte, size int) (put []*pending) {
	t.Helper()
	for range n {
		p := waiting(t.Context(), workspace, size)
		if err := q.put(p); err != nil {
			t.Fatal(err)
		}
		put = append(put, p)
	}
	return put
}

func take(t *testing.T, q *queue) []*pending {
	t.Helper()
	batch, closed := q.take()
	if closed {
		t.Fatal("the queue says that it is closed")
	}
	return batch
}

func TestAFullQueueRefusesAtOnce(t *testing.T) {
	for name, c := range map[string]struct{ workspaces, each, size int }{
		"by calls": {4, queueCallsMax / 4, 0},
		"by bytes": {4, 16, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			for ws := range c.workspaces {
				fill(t, q, c.each, byte(ws), c.size)
			}
			if err := q.put(waiting(t.Context(), 99, c.size)); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a full queue answers %v", err)
			}
			take(t, q)
			if err := q.put(waiting(t.Context(), 99, c.size)); err != nil {
				t.Errorf("after a batch was taken: %v", err)
			}
		})
	}
}

func TestOneWorkspaceCannotFillTheQueue(t *testing.T) {
	for name, c := range map[string]struct{ calls, size int }{
		"by calls": {queueCallsMax / 2, 0},
		"by bytes": {queueBytesMax / 2 >> 20, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			fill(t, q, c.calls, 1, c.size)
			if err := q.put(waiting(t.Context(), 1, c.size)); !errors.Is(err, ErrUnavailable) {
				t.Errorf("the greedy workspace got %v", err)
			}
			fill(t, q, 1, 2, 0)
		})
	}
}

func TestABusyWorkspaceLeavesHalfOfABatchToOthers(t *testing.T) {
	q := newQueue()
	busy := fill(t, q, 300, 1, 1000)
	others := fill(t, q, 100, 2, 1000)
	if got, want := take(t, q), append(slices.Clone(busy[:64]), others[:64]...); !slices.Equal(got, want) {
		t.Errorf("the first batch is not the first half of either: %d calls", len(got))
	}
	if got, want := take(t, q), append(slices.Clone(busy[64:128]), others[64:]...); !slices.Equal(got, want) {
		t.Errorf("what was left behind lost its order: %d calls", len(got))
	}
	if got, want := take(t, q), busy[128:256]; !slices.Equal(got, want) {
		t.Errorf("alone it may have a whole batch: %d calls", len(got))
	}
}

func TestAQuietNeighbourWaitsForOneBatchOfLargeWrites(t *testing.T) {
	q := newQueue()
	large := fill(t, q, 20, 1, 1<<20)
	take(t, q) // on its way when the neighbour comes
	quiet := fill(t, q, 1, 2, 100)[0]
	for batches := 1; ; batches++ {
		batch := take(t, q)
		if slices.Contains(batch, quiet) {
			break
		}
		if !slices.Equal(batch, large[batches:batches+1]) {
			t.Fatalf("batch %d is not one large write: %d calls", batches, len(batch))
		}
		if batches == 2 {
			t.Fatal("the neighbour waited for more than two batches")
		}
	}
}

func TestACallWhoseCallerIsGoneIsNotTaken(t *testing.T) {
	q := newQueue()
	ctx, leave := context.WithCancel(t.Context())
	gone := waiting(ctx, 1, 1<<20)
	if err := q.put(gone); err != nil {
		t.Fatal(err)
	}
	stays := fill(t, q, 2, 1, 10)
	leave()
	if got := take(t, q); !slices.Equal(got, stays) {
		t.Errorf("took %d calls, want the two whose callers wait", len(got))
	}
	if q.calls != 0 || q.bytes != 0 {
		t.Errorf("the queue counts %d calls and %d bytes", q.calls, q.bytes)
	}
}

// queueModel is the queue in simple: what waits of each workspace, and how often that may still be passed over.
type queueModel struct {
	real  *queue
	lines map[uuid.UUID]*modelLine
}

type modelLine struct {
	calls   []*pending
	leave   []context.CancelFunc // of the call of the same index
	bytes   int
	patient int
}

func (line *modelLine) drop() *pending {
	first := line.calls[0]
	line.calls, line.leave = line.calls[1:], line.leave[1:]
	line.bytes -= first.Size
	return first
}

func (m *queueModel) size() (calls, bytes int) {
	for _, line := range m.lines {
		calls += len(line.calls)
		bytes += line.bytes
	}
	return calls, bytes
}

func (m *queueModel) put(t *rapid.T) {
	ws := uuid.UUID{rapid.ByteRange(1, 5).Draw(t, "workspace")}
	size := rapid.SampledFrom([]int{0, 100, 100 << 10, 300 << 10, 1 << 20}).Draw(t, "size")
	for range rapid.IntRange(1, 300).Draw(t, "how many") {
		ctx, leave := context.WithCancel(context.Background())
		p := waiting(ctx, ws[0], size)
		calls, bytes := m.size()
		own := m.lines[ws]
		full := calls >= queueCallsMax || calls > 0 && bytes+size > queueBytesMax ||
			own != nil && (len(own.calls) >= queueCallsMax/2 || own.bytes+size > queueBytesMax/2)
		if err := m.real.put(p); (err != nil) != full || err != nil && !errors.Is(err, ErrUnavailable) {
			t.Fatalf("put with %d calls and %d bytes: %v", calls, bytes, err)
		}
		if full {
			leave()
			continue
		}
		if own == nil {
			own = &modelLine{patient: len(m.lines)}
			m.lines[ws] = own
		}
		own.calls, own.leave, own.bytes = append(own.calls, p), append(own.leave, leave), own.bytes+size
	}
}

func (m *queueModel) leave(t *rapid.T) {
	if line := m.lines[uuid.UUID{rapid.ByteRange(1, 5).Draw(t, "workspace")}]; line != nil {
		line.leave[rapid.IntRange(0, len(line.leave)-1).Draw(t, "who leaves")]()
	}
}

func (m *queueModel) take(t *rapid.T) {
	waited := len(m.lines)
	batch, closed := m.real.take()
	if closed {
		t.Fatal("closed")
	}
	bytes, taken := 0, map[uuid.UUID][]*pending{}
	for _, p := range batch {
		bytes += p.Size
		taken[p.Workspace] = append(taken[p.Workspace], p)
	}
	if len(batch) > batchCallsMax || bytes > batchBytesMax && len(batch) > 1 {
		t.Fatalf("a batch of %d calls and %d bytes", len(batch), bytes)
	}
	for ws, line := range m.lines {
		line.check(t, taken[ws], waited)
		m.passOver(t, ws, len(taken[ws]) > 0)
	}
}

// check demands that what was taken are the first calls whose callers wait, and no more than the workspace's share.
func (line *modelLine) check(t *rapid.T, taken []*pending, workspaces int) {
	bytes := 0
	for _, p := range taken {
		bytes += p.Size
		if p.ctx.Err() != nil {
			t.Fatal("took a call whose caller is gone")
		}
		for first := line.drop(); first != p; first = line.drop() {
			if first.ctx.Err() == nil {
				t.Fatal("a call was overtaken by a later one of its workspace")
			}
		}
	}
	if workspaces > 1 && (len(taken) > batchCallsMax/2 || bytes > batchBytesMax/2 && len(taken) > 1) {
		t.Fatalf("%d calls and %d bytes of one workspace while others wait", len(taken), bytes)
	}
}

// passOver follows how long a workspace waits, and forgets the calls without callers that the queue dropped.
func (m *queueModel) passOver(t *rapid.T, ws uuid.UUID, served bool) {
	line, kept := m.lines[ws], 0
	if real := m.real.byID[ws]; real != nil {
		kept = len(real.calls)
	}
	for len(line.calls) > kept {
		if line.drop().ctx.Err() == nil {
			t.Fatal("a call was lost")
		}
	}
	switch {
	case kept == 0:
		delete(m.lines, ws)
	case served:
		line.patient = 4 // the other workspaces that there are
	case line.patient == 0:
		t.Fatal("a workspace was passed over too often")
	default:
		line.patient--
	}
}

func (m *queueModel) check(t *rapid.T) {
	calls, bytes := m.size()
	if m.real.len() != calls || m.real.bytes != bytes {
		t.Fatalf("the queue counts %d calls and %d bytes, there are %d and %d", m.real.len(), m.real.bytes, calls, bytes)
	}
}

func TestTheQueueAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &queueModel{real: newQueue(), lines: map[uuid.UUID]*modelLine{}}
		t.Repeat(map[string]func(*rapid.T){"put": m.put, "leave": m.leave, "take": m.take, "": m.check})
		for len(m.lines) > 0 {
			m.take(t)
		}
		m.real.close()
		if batch, closed := m.real.take(); len(batch) != 0 || !closed {
			t.Fatal("an empty queue that was closed still gives calls")
		}
	})
}
