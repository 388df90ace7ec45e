package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const (
	firstPause = 50 * time.Millisecond
	longPause  = 2 * time.Second // of our own; Retry-After may say more
)

// sendUntilSettled sends a call, and again where that cannot do anything twice.
func (c *Client) sendUntilSettled(ctx context.Context, r request, target string, body []byte) ([]byte, Meta, error) {
	for attempt := 1; ; attempt++ {
		var connected atomic.Bool
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
		})
		answer, meta, err := c.send(traced, r, target, body)
		meta.Attempts = attempt
		if err == nil || attempt > c.retries || ctx.Err() != nil || !mayRepeat(err, r.read, connected.Load()) {
			return answer, meta, err
		}
		if !wait(ctx, pauseBefore(attempt, err)) {
			return nil, meta, err
		}
	}
}

// mayRepeat tells whether a failed call can be sent again: because nothing was done, or because it is a read.
func mayRepeat(err error, read, connected bool) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusTooManyRequests || read && refusal.Status == http.StatusServiceUnavailable
	}
	return read || !connected
}

// pauseBefore is what the service asked for, or else grows with each attempt; a part of it is random, so that agents that
// failed together do not come back together.
func pauseBefore(attempt int, err error) time.Duration {
	pause := min(firstPause<<(attempt-1), longPause)
	var refusal *Error
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 {
		return refusal.RetryAfter + rand.N(firstPause)
	}
	return pause/2 + rand.N(pause/2)
}

// wait pauses; it is false, at once when that can be known, if ctx ends before.
func wait(ctx context.Context, pause time.Duration) bool {
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), pause)
	defer cancel()
	end, ends := ctx.Deadline()
	if awake, _ := waiting.Deadline(); ends && end.Before(awake) {
		return false
	}
	select {
	case <-waiting.Done():
		return true
	case <-ctx.Done():
		return false
	}
}
