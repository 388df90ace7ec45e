package billing

import "fmt"

// kib is the step, in bytes, by which sized operations are charged.
const kib = 1024

// Price is what one successful call of an operation costs.
type Price struct {
	Base   Units // for the call itself
	PerKiB Units // for each started KiB (1,024 bytes) of text that the call adds
}

// For gives the price of a call that carries so many bytes of text; zero bytes cost Base.
func (p Price) For(bytes int) Units {
	if bytes <= 0 {
		return p.Base
	}
	startedKiB := Units((bytes-1)/kib + 1)
	return p.Base + p.PerKiB*startedKiB
}

// WebhookAttempt is the price of one delivery attempt, whatever becomes of it.
const WebhookAttempt Units = 2

// Prices is the price of every operation by its name: the meter charges from it and /pricing shows it.
// It is never changed while the service runs.
var Prices = map[string]Price{
	"create_workspace":       {},
	"create_trial_workspace": {},
	"get_workspace":          {},
	"delete_workspace":       {},
	"deposit":                {},

	"mint_subkey":   {},
	"list_subkeys":  {},
	"update_subkey": {},
	"revoke_subkey": {},
	"rotate_key":    {},

	"read_file":   {Base: 1},
	"write_file":  {Base: 8, PerKiB: 2},
	"append_file": {Base: 8, PerKiB: 2},
	"delete_file": {Base: 1},

	"acquire_lock":    {Base: 5},
	"renew_lock":      {Base: 2},
	"release_lock":    {},
	"get_lock_status": {Base: 1}, // 0 for a lock that was never held
	"list_locks":      {Base: 1},

	"send_message": {Base: 3},
	"get_messages": {Base: 1},
	"wait":         {Base: 1}, // a call, or a minute of a stream

	"get_activity":         {},
	"get_activity_summary": {},

	"register_webhook":       {},
	"list_webhooks":          {},
	"delete_webhook":         {},
	"get_webhook_deliveries": {},
	"ping_webhook":           {},
	"redeliver_events":       {},
	"enable_webhook":         {},
	"rotate_webhook_secret":  {},

	"submit_feedback":       {},
	"request_refund":        {},
	"get_refund_status":     {},
	"estimate_savings":      {},
	"get_pricing":           {},
	"get_remaining_balance": {},
	"get_forecast":          {},
}

// PriceOf gives the price of an operation. It panics on a name that the table lacks, so that a misspelt
// operation stops the start of the service and is never free by accident.
func PriceOf(operation string) Price {
	price, ok := Prices[operation]
	if !ok {
		panic(fmt.Sprintf("billing: no price for operation %q", operation))
	}
	return price
}
