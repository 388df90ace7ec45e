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
		pause := pauseBefore(attempt, err)
		if pause > c.longestPause || !wait(ctx, pause) {
			return nil, meta, err
		}
	}
}

// mayRepeat tells whether a failed call can be sent again: because nothing was done, or because doing it again changes
// nothing more. That holds for a payment, too: 502 and 503 want the same signature again, and the call has it.
func mayRepeat(err error, safe, connected bool) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusTooManyRequests || safe && isAway(refusal.Status)
	}
	return Temporary(err) && (safe || !connected)
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
