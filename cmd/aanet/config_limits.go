package main

import (
	"fmt"
	"math"

	"aanet/api"
)

// RateLimits bound what one address, key or workspace may ask of one replica; off is the zero value.
type RateLimits api.Limits

// UnmarshalText accepts on, off, or a JSON object whose members replace the defaults.
func (r *RateLimits) UnmarshalText(text []byte) error {
	limits := api.DefaultLimits()
	switch string(text) {
	case "on":
	case "off":
		*r = RateLimits{}
		return nil
	default:
		if err := parseJSON(text, &limits); err != nil {
			return fmt.Errorf("must be on, off or a JSON object: %w", err)
		}
	}
	if err := checkLimits(limits); err != nil {
		return err
	}
	*r = RateLimits(limits)
	return nil
}

// limitMost keeps each limit far from what a float64 or a bucket cannot count any more.
const limitMost = 1 << 40

func checkLimits(l api.Limits) error {
	for _, limit := range []struct {
		name         string
		value, least float64
	}{
		{"trial_per_hour", l.TrialPerHour, 1},
		{"create_per_hour", l.CreatePerHour, 1},
		{"key_rate", l.KeyRate, 1},
		{"key_burst", float64(l.KeyBurst), 1},
		{"key_bytes_rate", l.KeyBytesRate, 1},
		{"key_bytes_burst", float64(l.KeyBytesBurst), api.BodyBytesMax}, // less would refuse the largest body for ever
		{"failed_keys_per_minute", l.FailedKeysPerMinute, 1},
		{"refusal_rows_rate", l.RefusalRowsRate, 1},
		{"refusal_rows_burst", l.RefusalRowsBurst, 1},
	} {
		if limit.value < limit.least || limit.value > limitMost || limit.value != math.Trunc(limit.value) {
			return fmt.Errorf("%s must be a whole number from %.0f to %d", limit.name, limit.least, int64(limitMost))
		}
	}
	return nil
}
