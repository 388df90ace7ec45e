package client

import "time"

// RenewNow renews as the keeper does, for tests that do not wait for it.
func (l *Lease) RenewNow() error { return l.renew() }

// WithSilence sets how long an event stream may say nothing.
func WithSilence(d time.Duration) Option { return func(c *Client) { c.silence = d } }
