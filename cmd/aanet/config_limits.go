package main

import "fmt"

// RateLimits bound what one address, key or workspace may ask of one replica. Rates are a second unless their name
// says otherwise; a burst is what may come at once after a pause.
type RateLimits struct {
	// Off lifts every limit, the budget of refusal rows included.
	Off bool `json:"-"`

	// TrialPerHour and CreatePerHour are new trial and real workspaces for one client address.
	TrialPerHour  int64 `json:"trial_per_hour"`
	CreatePerHour int64 `json:"create_per_hour"`
	// KeyRate and KeyBurst are calls of one key.
	KeyRate  int64 `json:"key_rate"`
	KeyBurst int64 `json:"key_burst"`
	// KeyBytesRate and KeyBytesBurst are body bytes of one key.
	KeyBytesRate  int64 `json:"key_bytes_rate"`
	KeyBytesBurst int64 `json:"key_bytes_burst"`
	// FailedKeysPerMinute are calls with a bad key from one client address.
	FailedKeysPerMinute int64 `json:"failed_keys_per_minute"`
	// RefusalRowsRate and RefusalRowsBurst are logged refusals of one workspace.
	RefusalRowsRate  int64 `json:"refusal_rows_rate"`
	RefusalRowsBurst int64 `json:"refusal_rows_burst"`
}

// DefaultRateLimits are the limits of AANET_RATE_LIMITS=on.
func DefaultRateLimits() RateLimits {
	return RateLimits{
		TrialPerHour:        10,
		CreatePerHour:       60,
		KeyRate:             200,
		KeyBurst:            400,
		KeyBytesRate:        16 << 20,
		KeyBytesBurst:       64 << 20,
		FailedKeysPerMinute: 60,
		RefusalRowsRate:     50,
		RefusalRowsBurst:    500,
	}
}

// largestBodyBytes is what one call may carry: a smaller byte burst would refuse it for ever.
const largestBodyBytes = 8 << 20

// UnmarshalText accepts on, off, or a JSON object whose members replace the defaults.
func (r *RateLimits) UnmarshalText(text []byte) error {
	limits := DefaultRateLimits()
	switch string(text) {
	case "on":
	case "off":
		limits.Off = true
	default:
		// The defined type has no UnmarshalText, which would call itself.
		type members RateLimits
		if err := parseJSON(text, (*members)(&limits)); err != nil {
			return fmt.Errorf("must be on, off or a JSON object: %w", err)
		}
	}
	if err := limits.check(); err != nil {
		return err
	}
	*r = limits
	return nil
}

func (r RateLimits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
		least int64
	}{
		{"trial_per_hour", r.TrialPerHour, 1},
		{"create_per_hour", r.CreatePerHour, 1},
		{"key_rate", r.KeyRate, 1},
		{"key_burst", r.KeyBurst, 1},
		{"key_bytes_rate", r.KeyBytesRate, 1},
		{"key_bytes_burst", r.KeyBytesBurst, largestBodyBytes},
		{"failed_keys_per_minute", r.FailedKeysPerMinute, 1},
		{"refusal_rows_rate", r.RefusalRowsRate, 1},
		{"refusal_rows_burst", r.RefusalRowsBurst, 1},
	} {
		if limit.value < limit.least || limit.value > 1<<40 {
			return fmt.Errorf("%s must be a whole number from %d to %d", limit.name, limit.least, int64(1)<<40)
		}
	}
	return nil
}
