package webhooks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"aanet/store"

	"github.com/google/uuid"
)

// The rules of delivery that owners are promised.
const (
	FailuresMax = 10             // failed attempts in a row that disable an endpoint
	attemptsMax = 10             // failed attempts after which one event is given up
	eventsKept  = 24 * time.Hour // how long an event waits for an active endpoint
	jitter      = 0.2            // of a delay, either way
	roundsMax   = 8              // of attempts in one go, so that slots change hands
	finishTries = 6
	finishPause = 250 * time.Millisecond // doubled between tries to record outcomes
)

// serve makes rounds of attempts at one endpoint until nothing is due there, it fails, or it had its
// turn, and frees the endpoint's slot.
func (e *Engine) serve(ctx context.Context, d store.DueWebhook) {
	at := endpoint{d.Workspace, d.Webhook}
	rest, more := time.Duration(0), true
	defer func() {
		if look := e.slots.give(at, rest); look || more {
			e.signal()
		}
		e.metrics.serving.Set(float64(e.slots.serving()))
	}()
	_, err := e.options.Sealer.Open(at.workspace, at.webhook, d.Secret)
	if err == nil && d.PayloadVersion > PayloadVersion {
		err = fmt.Errorf("there is no version %d of webhook bodies", d.PayloadVersion)
	}
	if err != nil {
		// Before anything is charged: it is the operator who can mend this.
		e.options.Log.ErrorContext(ctx, "a webhook cannot be served", "webhook", at.webhook, "error", err.Error())
		rest, more = longPause, false
		return
	}
	window := 1 // grows while the receiver shows that it is there
	for range roundsMax {
		var prompt bool
		if more, prompt, err = e.round(ctx, at, window); err != nil {
			e.options.Log.WarnContext(ctx, "a webhook has to wait", "webhook", at.webhook, "error", err.Error())
			rest, more = troublePause, false
		}
		if !more || ctx.Err() != nil || !e.slots.answered(at, prompt) {
			return
		}
		window = min(window*2, e.options.Window)
	}
}

// round begins, makes and records up to window attempts. It tells whether more is due now, and whether all were answered
// well and at once.
func (e *Engine) round(ctx context.Context, at endpoint, window int) (more, prompt bool, err error) {
	ids := make([]uuid.UUID, window)
	for i := range ids {
		if ids[i], err = uuid.NewV7(); err != nil {
			return false, false, fmt.Errorf("id of an attempt: %w", err)
		}
	}
	// Not cancelled by a stop: what is charged must be made.
	begun, err := e.options.Store.BeginAttempts(e.sending, store.Begin{
		Workspace: at.workspace, Webhook: at.webhook, Worker: e.worker,
		Lease: e.options.Lease, Price: e.options.Price, IDs: ids, Keep: eventsKept,
	})
	if err != nil {
		return false, false, fmt.Errorf("begin: %w", err)
	}
	if len(begun.Attempts) == 0 {
		return false, false, nil
	}
	done := e.sendAll(ctx, at, begun)
	prompt = !slices.ContainsFunc(done, func(m made) bool { return m.Result != store.AttemptSucceeded || m.Duration > promptWithin })
	finished, err := e.record(at, begun.Failures, done, prompt)
	if err != nil {
		return false, false, fmt.Errorf("record: %w", err)
	}
	if slices.ContainsFunc(done, func(m made) bool { return m.Result == store.AttemptUnknown }) {
		return false, false, errors.New("the outcome of an attempt is unknown")
	}
	if finished.Disabled != nil {
		e.metrics.disabled.Inc()
		e.options.Log.InfoContext(ctx, "a webhook was disabled", "webhook", at.webhook, "reason", *finished.Disabled)
	}
	return finished.More, prompt, nil
}

// made is an attempt that was made, with what its receiver asked for.
type made struct {
	store.Outcome
	retryAfter time.Duration
	gone       bool
}

// sendAll makes attempts side by side and gives their outcomes in the order in which they ended.
func (e *Engine) sendAll(ctx context.Context, at endpoint, begun store.Begun) []made {
	ended := make(chan made, len(begun.Attempts))
	for _, a := range begun.Attempts {
		go func() { ended <- e.attempt(ctx, at, begun, a) }()
	}
	all := make([]made, len(begun.Attempts))
	for i := range all {
		all[i] = <-ended
		e.metrics.observe(all[i].Outcome)
	}
	return all
}

// attempt sends one event.
func (e *Engine) attempt(ctx context.Context, at endpoint, begun store.Begun, a store.Attempt) (m made) {
	started := e.options.Now()
	m.Attempt = a
	defer func() {
		if fault := recover(); fault != nil {
			e.options.Log.ErrorContext(ctx, "panic in a webhook attempt", "webhook", at.webhook, "error", fmt.Sprint(fault))
			m.Result, m.Error = store.AttemptUnknown, "unknown"
		}
		m.Duration = e.options.Now().Sub(started)
	}()
	headers, body, err := e.compose(at, begun, a, started)
	if err != nil {
		e.options.Log.ErrorContext(ctx, "an event cannot be sent", "webhook", at.webhook, "error", err.Error())
		m.Result, m.Error = store.AttemptUnknown, "unknown"
		return m
	}
	got := e.sender.send(e.sending, begun.URL, headers, body)
	m.Status, m.Error, m.retryAfter, m.gone = got.status, got.fault, got.retryAfter, got.status == http.StatusGone
	switch {
	case got.ok():
		m.Result = store.AttemptSucceeded
	case e.sending.Err() != nil && got.status == 0: // broken off by Stop
		m.Result, m.Error = store.AttemptUnknown, "unknown"
	default:
		m.Result = store.AttemptFailed
	}
	return m
}

// compose renders and signs the request of an attempt.
func (e *Engine) compose(at endpoint, begun store.Begun, a store.Attempt, now time.Time) (http.Header, []byte, error) {
	kind, body, err := Render(begun.PayloadVersion, a.Event)
	if err != nil {
		return nil, nil, err
	}
	secret, err := e.options.Sealer.Open(at.workspace, at.webhook, begun.Secret)
	if err != nil {
		return nil, nil, err
	}
	previous := ""
	if begun.PreviousSecret != nil { // one that cannot be read is on its way out anyway
		previous, _ = e.options.Sealer.Open(at.workspace, at.webhook, begun.PreviousSecret)
	}
	h := http.Header{
		"Content-Type":     {"application/json"},
		"User-Agent":       {"AANet-Webhooks/1"},
		"X-AANet-Event":    {kind},
		"X-AANet-Delivery": {a.DeliveryID.String()},
		"X-AANet-Attempt":  {strconv.Itoa(a.Number)},
	}
	return h, body, sign(h, EventID(at.workspace, a.Event.Seq), now, body, secret, previous)
}

// record stores the outcomes and gives the lease back. While the database is away it tries again for
// some seconds; after that the lease ends by itself and the attempts count as unknown.
func (e *Engine) record(at endpoint, failures int, done []made, prompt bool) (store.Finished, error) {
	f := store.Finish{
		Workspace: at.workspace, Webhook: at.webhook, Worker: e.worker, Retry: e.delay(failures), Strict: e.options.Window == 1,
		Prompt: prompt, FailuresMax: FailuresMax, AttemptsMax: attemptsMax,
	}
	for _, m := range done {
		f.Outcomes = append(f.Outcomes, m.Outcome)
		f.Retry = max(f.Retry, m.retryAfter)
		f.Gone = f.Gone || m.gone
	}
	ctx := context.WithoutCancel(e.sending)
	wait := finishPause
	for try := 1; ; try++ {
		finished, err := e.options.Store.FinishAttempts(ctx, f)
		if err == nil || try == finishTries || e.sending.Err() != nil && try > 1 {
			return finished, err
		}
		_ = pause(ctx, wait)
		wait *= 2
	}
}

// delay is how long to wait after a round that failed, with the failed attempts in a row before it. A
// round counts once here: four attempts that fail together are one outage.
func (e *Engine) delay(failures int) time.Duration {
	table := e.options.Retry
	base := table[min(failures, len(table)-1)]
	return time.Duration(float64(base) * (1 - jitter + 2*jitter*rand.Float64()))
}
