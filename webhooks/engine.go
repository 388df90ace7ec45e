package webhooks

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"aanet/store"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// Defaults of an engine. A lease outlives an attempt with time to record it.
const (
	defaultWindow = 4
	defaultSlots  = 512
	defaultLease  = 40 * time.Second
	pollMin       = 250 * time.Millisecond // between two looks at what is due, while there was something
	pollMax       = time.Second            // while there is nothing for long
	wakeMin       = 5 * time.Millisecond   // between two looks because of commits, while they find something
	wakeMax       = 50 * time.Millisecond  // while they find nothing
	candidatesMax = 500
	troublePause  = 2 * time.Second // for an endpoint that could not be served for a fault of ours
	longPause     = time.Minute     // for a fault that only the operator can mend
)

// Options are what Start needs. Those with a default may be left out.
type Options struct {
	Store      *store.Store
	Guard      *Guard
	Sealer     *Sealer
	Roots      *x509.CertPool  // trusted beside the system's; nil: only those
	Retry      []time.Duration // delay after the n-th failed attempt in a row; the last repeats
	Price      int64           // units an attempt
	Registerer prometheus.Registerer
	Now        func() time.Time // for the time that is signed, and to measure with
	Log        *slog.Logger

	Window  int           // attempts that one endpoint gets at a time; 1 keeps the order of events strictly
	Slots   int           // endpoints that are served at a time
	Lease   time.Duration // after which another replica takes an endpoint over
	Timeout time.Duration // of one attempt
}

// Engine delivers events to the endpoints that are due, whichever replica made them. Each endpoint is
// leased by one engine at a time, so a slow one holds up nobody else.
type Engine struct {
	options Options
	worker  uuid.UUID
	sender  *sender
	metrics *metrics
	slots   *slotTable
	wake    chan struct{} // holds one token while there may be something to do

	sending context.Context // ends when attempts must be broken off
	breakUp context.CancelFunc
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// Start begins to deliver and returns at once. A database that is away is waited for. When ctx ends no
// further attempt is begun; Stop is needed all the same.
func Start(ctx context.Context, o Options) (*Engine, error) {
	worker, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("webhook engine: %w", err)
	}
	o.fill()
	e := &Engine{
		options: o, worker: worker, sender: newSender(o.Guard, o.Roots, o.Timeout), metrics: newMetrics(o.Registerer),
		slots: newSlotTable(o.Slots, o.Now), wake: make(chan struct{}, 1),
	}
	e.sending, e.breakUp = context.WithCancel(context.WithoutCancel(ctx))
	ctx, e.stop = context.WithCancel(ctx)
	cancel := o.Store.Subscribe(func([]uuid.UUID) { e.signal() })
	e.done.Go(func() {
		defer cancel()
		e.loop(ctx)
	})
	return e, nil
}

func (o *Options) fill() {
	if o.Window == 0 {
		o.Window = defaultWindow
	}
	if o.Slots == 0 {
		o.Slots = defaultSlots
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Timeout == 0 {
		o.Timeout = attemptTimeout
	}
	if len(o.Retry) == 0 {
		o.Retry = []time.Duration{5 * time.Second}
	}
}

// Stop begins no further attempt and waits until those under way are answered and recorded. When ctx
// ends before, they are broken off and recorded as unknown.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop()
	finished := make(chan struct{})
	go func() { e.done.Wait(); close(finished) }()
	defer e.breakUp()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		e.breakUp()
		<-finished
		return fmt.Errorf("webhook attempts were broken off: %w", ctx.Err())
	}
}

// signal lets the engine look for what is due. It never blocks.
func (e *Engine) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// loop looks for due endpoints after commits of this process, and now and then for what others made,
// for what a dead one left and for retries.
func (e *Engine) loop(ctx context.Context) {
	every, gap, away := pollMin, wakeMin, false
	for ctx.Err() == nil {
		found, err := e.serveDue(ctx)
		if err != nil && !away && ctx.Err() == nil { // said once an outage
			e.options.Log.WarnContext(ctx, "webhooks wait for the database", "error", err.Error())
		}
		away = err != nil
		if found > 0 {
			every, gap = pollMin, wakeMin
		} else {
			every, gap = min(every*2, pollMax), min(gap*2, wakeMax)
		}
		if !pause(ctx, gap) {
			return
		}
		select {
		case <-ctx.Done():
		case <-e.wake:
		case <-time.After(every):
		}
	}
}

// pause waits; it tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// serveDue starts to serve what is due and not served yet, within the slots. It tells how many it started.
func (e *Engine) serveDue(ctx context.Context) (started int, err error) {
	due, err := e.options.Store.DueWebhooks(ctx, e.slots.room(candidatesMax))
	if err != nil {
		return 0, err
	}
	for _, d := range due {
		if !e.slots.take(d) {
			continue
		}
		e.metrics.serving.Set(float64(e.slots.serving()))
		started++
		e.done.Go(func() {
			e.serve(ctx, d)
		})
	}
	return started, nil
}
