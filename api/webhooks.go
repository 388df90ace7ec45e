package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/webhooks"
)

// Limits of webhooks in a workspace, and of redelivering.
const (
	WebhooksActiveMax = 5
	webhooksMax       = 50             // disabled ones included
	secretOverlap     = 24 * time.Hour // how long the secret from before a rotation signs too
	redeliverMax      = 1000           // events a call
	redeliverSince    = 3 * 24 * time.Hour
)

const webhookPath = workspacePath + "/webhooks"

func webhookOps() []*Op {
	return []*Op{
		op(Def{
			Name: "register_webhook", Log: "REGISTER_WEBHOOK", Method: "POST", Path: webhookPath, Who: Owner, Price: billing.PriceOf("register_webhook"),
			Status: 201, OpenWorld: true,
			Summary: "Register an https endpoint for events.",
			Doc: `Posts events (file_write, file_delete, lock_available, message, balance_low: any subset) to url, signed with secret, which is shown this once. url: ` +
				`https, a public address, port 443 or from 1024 on. At least once, retried for 24 h; ten failed attempts in a row disable it. balance_low warns once ` +
				`when the balance falls below balance_low_units, again after money came in. At most 5 active. Each attempt costs 2 units. Owner key. Refusals: ` +
				`OWNER_ONLY, INVALID_ARGUMENT, WORKSPACE_BLOCKED, WEBHOOK_LIMIT.`,
		}, registerWebhook),
		op(Def{
			Name: "list_webhooks", Log: "LIST_WEBHOOKS", Method: "GET", Path: webhookPath, Who: Owner, Price: billing.PriceOf("list_webhooks"),
			WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "List the webhooks.",
			Doc: `Every webhook, oldest first, disabled ones too. disabled_reason: failing (ten failed attempts in a row), gone (it answered 410) or operator (disabled by the operator). Secrets are never ` +
				`shown again. Free; owner key. Refusals: OWNER_ONLY.`,
		}, listWebhooks),
		op(Def{
			Name: "delete_webhook", Log: "DELETE_WEBHOOK", Method: "DELETE", Path: webhookPath + "/{webhook_id}", Who: Owner,
			Price: billing.PriceOf("delete_webhook"), Subject: "webhook_id", WhileBlocked: true, Destructive: true,
			Summary: "Delete a webhook.",
			Doc:     `Nothing more is sent to it; what waits is dropped. It cannot be undone. Free; owner key. Refusals: OWNER_ONLY, NOT_FOUND.`,
		}, deleteWebhook),
		op(Def{
			Name: "get_webhook_deliveries", Log: "GET_DELIVERIES", Method: "GET", Path: webhookPath + "/{webhook_id}/deliveries", Who: Owner,
			Price: billing.PriceOf("get_webhook_deliveries"), Subject: "webhook_id", WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Show how the attempts of a webhook went.",
			Doc: `Attempts of the last 30 days, newest first: status_code (null: no answer), success, duration, error ("in flight" while under way, "unknown" when the ` +
				`outcome was lost). Free; owner key. Refusals: OWNER_ONLY, NOT_FOUND, INVALID_ARGUMENT.`,
		}, getDeliveries),
		op(Def{
			Name: "ping_webhook", Log: "PING_WEBHOOK", Method: "POST", Path: webhookPath + "/{webhook_id}/ping", Who: Owner,
			Price: billing.PriceOf("ping_webhook"), Subject: "webhook_id", Status: 200, RESTOnly: true, OpenWorld: true,
			Summary: "Send a ping to one webhook.",
			Doc: `Queues an event of type ping for this webhook alone, whatever it subscribes to. event_id is its webhook-id header. Free; the attempt costs 2 units. ` +
				`Owner key. Refusals: OWNER_ONLY, NOT_FOUND, WEBHOOK_DISABLED, WORKSPACE_BLOCKED.`,
		}, pingWebhook),
		op(Def{
			Name: "redeliver_events", Log: "REDELIVER_EVENTS", Method: "POST", Path: webhookPath + "/{webhook_id}/redeliver", Who: Owner,
			Price: billing.PriceOf("redeliver_events"), Subject: "webhook_id", RESTOnly: true, OpenWorld: true,
			Summary: "Send events to a webhook again.",
			Doc: `With delivery_id: the event of that attempt once more, even if it was delivered. With since (within the last three days): every event it subscribes to that was never delivered, ` +
				`those from while it was disabled included; at most 1,000 a call, and more tells to call again. The same webhook-id and body as before. Free; each attempt costs 2 units. ` +
				`Owner key. Refusals: OWNER_ONLY, NOT_FOUND, WEBHOOK_DISABLED, INVALID_ARGUMENT, WORKSPACE_BLOCKED.`,
		}, redeliverEvents),
		op(Def{
			Name: "enable_webhook", Log: "ENABLE_WEBHOOK", Method: "POST", Path: webhookPath + "/{webhook_id}/enable", Who: Owner,
			Price: billing.PriceOf("enable_webhook"), Subject: "webhook_id", RESTOnly: true, Idempotent: true, OpenWorld: true,
			Summary: "Make a disabled webhook active again.",
			Doc: `Forgets its failures and sends at once what still waits, also for an active one that backs off. Events from while it was disabled: redeliver with since. ` +
				`Free; owner key. Refusals: OWNER_ONLY, NOT_FOUND, WEBHOOK_LIMIT, WORKSPACE_BLOCKED.`,
		}, enableWebhook),
		op(Def{
			Name: "rotate_webhook_secret", Log: "ROTATE_WEBHOOK_SECRET", Method: "POST", Path: webhookPath + "/{webhook_id}/rotate-secret", Who: Owner,
			Price: billing.PriceOf("rotate_webhook_secret"), Subject: "webhook_id", RESTOnly: true, WhileBlocked: true,
			Summary: "Give a webhook a new secret.",
			Doc: `The new secret is shown this once and signs from now on; the one before signs beside it until previous_valid_until, 24 hours from now. ` +
				`Free; owner key. Refusals: OWNER_ONLY, NOT_FOUND.`,
		}, rotateSecret),
	}
}

// RegisterWebhookIn is the input of register_webhook.
type RegisterWebhookIn struct {
	URL    string   `json:"url" doc:"https, at most 2,048 bytes."`
	Events []string `json:"events" doc:"Kinds of events."`

	BalanceLowUnits *int64 `json:"balance_low_units" min:"1" max:"9007199254740991" null:"unlisted" doc:"For balance_low; 1000 without it."`
}

// balanceLowDefault is the balance in units below which those who want to be warned are, when they name none.
const balanceLowDefault = 1000

// balanceLow is the balance below which the webhook is warned; nil: it is not.
func (in RegisterWebhookIn) balanceLow() *int64 {
	if in.BalanceLowUnits == nil && slices.Contains(in.Events, webhooks.BalanceLow) {
		return new(int64(balanceLowDefault))
	}
	return in.BalanceLowUnits
}

// faults are what the shape cannot express: what the events may be, and where url may lead. The resolver
// is asked when all else is in order.
func (in RegisterWebhookIn) faults(ctx context.Context, guard *webhooks.Guard) (faults []FieldFault) {
	if fault := guard.URLFault(in.URL); fault != "" {
		faults = append(faults, FieldFault{"url", fault})
	}
	known := webhooks.Events()
	if len(in.Events) == 0 || slices.ContainsFunc(in.Events, func(e string) bool { return !slices.Contains(known, e) }) {
		faults = append(faults, FieldFault{"events", "must be a non-empty list of " + strings.Join(known, ", ")})
	} else if in.BalanceLowUnits != nil && !slices.Contains(in.Events, webhooks.BalanceLow) {
		faults = append(faults, FieldFault{"balance_low_units", "is for the event balance_low only"})
	}
	if faults == nil {
		if fault := guard.AddressFault(ctx, in.URL); fault != "" {
			faults = append(faults, FieldFault{"url", fault})
		}
	}
	return faults
}

// RegisterWebhookOut is the output of register_webhook. Secret is not shown again.
type RegisterWebhookOut struct {
	WebhookID string   `json:"webhook_id"`
	URL       string   `json:"url"`
	Events    []string `json:"events"`
	Secret    string   `json:"secret"`

	BalanceLowUnits *int64 `json:"balance_low_units"`
}

func registerWebhook(ctx context.Context, c *Caller, in RegisterWebhookIn) (RegisterWebhookOut, error) {
	// The resolver is asked for known callers only, and holds up no lane.
	if _, err := c.inquire(ctx, nil); err != nil {
		return RegisterWebhookOut{}, err
	}
	if faults := in.faults(ctx, c.svc.config.Webhooks.Guard); faults != nil {
		refusal := Refuse(InvalidArgument)
		refusal.Errors = faults
		return RegisterWebhookOut{}, c.refuse(ctx, refusal, nil)
	}
	id, secret := newID(), webhooks.NewSecret()
	out := RegisterWebhookOut{WebhookID: id.String(), URL: in.URL, Events: []string{}, Secret: secret, BalanceLowUnits: in.balanceLow()}
	for _, e := range webhooks.Events() { // each once, in one order
		if slices.Contains(in.Events, e) {
			out.Events = append(out.Events, e)
		}
	}
	err := c.do(ctx, fn{name: "register_webhook", args: []any{
		id, in.URL, out.Events, webhooks.PayloadVersion, c.seal(id, secret), out.BalanceLowUnits, WebhooksActiveMax, webhooksMax,
	}, once: true, made: []any{&out.WebhookID, &out.Secret}})
	return out, err
}

func (c *Caller) seal(webhook uuid.UUID, secret string) []byte {
	return c.svc.config.Webhooks.Sealer.Seal(c.Workspace(), webhook, secret)
}

// WebhookOut is a webhook in a list.
type WebhookOut struct {
	WebhookID      string   `json:"webhook_id"`
	URL            string   `json:"url"`
	Events         []string `json:"events"`
	Active         bool     `json:"active"`
	DisabledReason *string  `json:"disabled_reason"`
	CreatedAt      Time     `json:"created_at"`

	BalanceLowUnits *int64 `json:"balance_low_units"`
}

func listWebhooks(ctx context.Context, c *Caller, _ struct{}) (List[WebhookOut], error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return List[WebhookOut]{}, err
	}
	rows, err := c.svc.store.Webhooks(ctx, c.Workspace())
	if err != nil {
		return List[WebhookOut]{}, storeError(err)
	}
	out := make([]WebhookOut, len(rows))
	for i, w := range rows {
		out[i] = WebhookOut{w.ID.String(), w.URL, w.Events, w.Active, w.DisabledReason, Time{w.CreatedAt}, w.BalanceLowUnits}
	}
	return listOf(out), nil
}

// WebhookIn names a webhook.
type WebhookIn struct {
	WebhookID string `json:"webhook_id" check:"id" doc:"The webhook's id."`
}

// DeleteWebhookOut is the output of delete_webhook.
type DeleteWebhookOut struct {
	WebhookID string `json:"webhook_id"`
	Deleted   bool   `json:"deleted"`
}

func deleteWebhook(ctx context.Context, c *Caller, in WebhookIn) (DeleteWebhookOut, error) {
	id := knownID(in.WebhookID)
	err := c.do(ctx, fn{name: "delete_webhook", args: []any{id}, once: true})
	return DeleteWebhookOut{id.String(), true}, err
}

// DeliveriesIn is the input of get_webhook_deliveries.
type DeliveriesIn struct {
	WebhookID string `json:"webhook_id" check:"id" doc:"The webhook's id."`
	Limit     int64  `json:"limit" min:"1" max:"200" default:"50" doc:"Most attempts."`
}

// DeliveryOut is one attempt. A null status_code means that there was no answer.
type DeliveryOut struct {
	DeliveryID string  `json:"delivery_id"`
	EventType  string  `json:"event_type"`
	Attempt    int     `json:"attempt"`
	StatusCode *int    `json:"status_code"`
	Success    bool    `json:"success"`
	TS         Time    `json:"ts"`
	DurationMS *int64  `json:"duration_ms"`
	Error      *string `json:"error"`
}

func getDeliveries(ctx context.Context, c *Caller, in DeliveriesIn) (List[DeliveryOut], error) {
	id := knownID(in.WebhookID)
	if err := c.ownWebhook(ctx, id); err != nil {
		return List[DeliveryOut]{}, err
	}
	rows, err := c.svc.store.WebhookAttempts(ctx, c.Workspace(), id, in.Limit)
	if err != nil {
		return List[DeliveryOut]{}, storeError(err)
	}
	out := make([]DeliveryOut, len(rows))
	for i, a := range rows {
		out[i] = DeliveryOut{a.DeliveryID.String(), a.EventType, a.Attempt, a.StatusCode, a.Success, Time{a.StartedAt}, a.DurationMS, a.Error}
		if !a.Finished {
			out[i].Error = new("in flight")
		}
	}
	return listOf(out), nil
}

// ownWebhook proves the caller and refuses, with a row in the log, when it has no such webhook.
func (c *Caller) ownWebhook(ctx context.Context, id uuid.UUID) error {
	if _, err := c.inquire(ctx, new(id.String())); err != nil {
		return err
	}
	has, err := c.svc.store.HasWebhook(ctx, c.Workspace(), id)
	if err == nil && !has {
		return c.refuse(ctx, Refuse(NotFound), map[string]any{"webhook_id": id.String()})
	}
	return storeError(err)
}

// PingWebhookOut is the output of ping_webhook.
type PingWebhookOut struct {
	WebhookID string `json:"webhook_id"`
	EventID   string `json:"event_id"`
}

func pingWebhook(ctx context.Context, c *Caller, in WebhookIn) (PingWebhookOut, error) {
	id := knownID(in.WebhookID)
	var seq int64
	err := c.do(ctx, fn{name: "ping_webhook", price: c.op.Price.Base, args: []any{id}, into: []any{&seq}, once: true})
	return PingWebhookOut{id.String(), webhooks.EventID(c.Workspace(), seq)}, err
}

// RedeliverIn is the input of redeliver_events: exactly one of DeliveryID and Since.
type RedeliverIn struct {
	WebhookID  string  `json:"webhook_id" check:"id" doc:"The webhook's id."`
	DeliveryID *string `json:"delivery_id" check:"id" doc:"The attempt whose event is to be sent again."`
	Since      *string `json:"since" check:"timestamp" doc:"All that was never delivered since then, within the last three days."`
}

func (in RedeliverIn) fault() (*FieldFault, []string) {
	if (in.DeliveryID == nil) == (in.Since == nil) {
		return &FieldFault{"delivery_id", "exactly one of delivery_id and since is needed"}, []string{"delivery_id", "since"}
	}
	return nil, nil
}

// RedeliverOut is the output of redeliver_events.
type RedeliverOut struct {
	WebhookID string `json:"webhook_id"`
	Queued    int64  `json:"queued"`
	More      bool   `json:"more"`
}

func redeliverEvents(ctx context.Context, c *Caller, in RedeliverIn) (RedeliverOut, error) {
	id := knownID(in.WebhookID)
	out := RedeliverOut{WebhookID: id.String()}
	seqs, err := c.eventsAgain(ctx, id, in)
	if err != nil {
		return out, err
	}
	out.More = len(seqs) == redeliverMax
	err = c.do(ctx, fn{name: "redeliver_events", price: c.op.Price.Base, args: []any{id, seqs}, into: []any{&out.Queued}, once: true, made: []any{&out.More}})
	return out, err
}

// eventsAgain finds the events that are meant, at most redeliverMax. The log is searched outside of the lanes.
func (c *Caller) eventsAgain(ctx context.Context, id uuid.UUID, in RedeliverIn) ([]int64, error) {
	who, err := c.inquire(ctx, new(id.String()))
	if err != nil {
		return nil, err
	}
	if in.Since != nil {
		earliest := who.now.Add(-redeliverSince)
		since := *instant(in.Since)
		if since.Before(earliest) {
			refusal := Refuse(InvalidArgument)
			refusal.Errors = []FieldFault{{"since", fmt.Sprintf("must be within the last %d hours", int(redeliverSince.Hours()))}}
			return nil, c.refuse(ctx, refusal, map[string]any{"webhook_id": id.String()})
		}
		seqs, err := c.svc.store.MissedEvents(ctx, c.Workspace(), id, since, redeliverMax)
		return seqs, storeError(err)
	}
	seq, err := c.svc.store.AttemptedEvent(ctx, c.Workspace(), id, knownID(*in.DeliveryID))
	if err != nil {
		return nil, storeError(err)
	}
	if seq == 0 {
		return nil, c.refuse(ctx, Refuse(NotFound), map[string]any{"webhook_id": id.String()})
	}
	return []int64{seq}, nil
}

func enableWebhook(ctx context.Context, c *Caller, in WebhookIn) (WebhookOut, error) {
	id := knownID(in.WebhookID)
	out := WebhookOut{WebhookID: id.String(), Active: true}
	err := c.do(ctx, fn{
		name: "enable_webhook", price: c.op.Price.Base, args: []any{id, WebhooksActiveMax},
		into: []any{&out.URL, &out.Events, &out.CreatedAt.Time, &out.BalanceLowUnits}, once: true,
	})
	return out, err
}

// RotateSecretOut is the output of rotate_webhook_secret. Secret is not shown again.
type RotateSecretOut struct {
	WebhookID          string `json:"webhook_id"`
	Secret             string `json:"secret"`
	PreviousValidUntil Time   `json:"previous_valid_until"`
}

func rotateSecret(ctx context.Context, c *Caller, in WebhookIn) (RotateSecretOut, error) {
	id, secret := knownID(in.WebhookID), webhooks.NewSecret()
	out := RotateSecretOut{WebhookID: id.String(), Secret: secret}
	err := c.do(ctx, fn{
		name: "rotate_webhook_secret", price: c.op.Price.Base, args: []any{id, c.seal(id, secret), secretOverlap},
		into: []any{&out.PreviousValidUntil.Time}, once: true, made: []any{&out.Secret},
	})
	return out, err
}
