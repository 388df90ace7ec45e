// Package api is the service layer: one typed definition for each operation, and its rule. Both
// doors, REST and MCP, call it in the same way and get the same answers.
package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/refunds"
	"aanet/store"
	"aanet/webhooks"
)

// Config is what the operator sets.
type Config struct {
	TrialTTL  time.Duration
	PublicURL string // where clients reach the service
	Limits    Limits
	Webhooks  WebhookConfig

	Deposits   *deposits.Engine // nil: no deposits are taken
	RefundFees refunds.Fees     // the defaults when nil
}

// WebhookConfig is what registering webhooks needs. Without a Guard only public addresses pass; without a
// Sealer secrets can be read as long as the process lives, which is enough for tests only.
type WebhookConfig struct {
	Guard  *webhooks.Guard
	Sealer *webhooks.Sealer
}

// Service is AANet behind its doors.
type Service struct {
	store    *store.Store
	config   Config
	guards   *guards
	log      *slog.Logger
	failures *failures
	drain    drain
	lines    *lines
	status   statusLook
}

// NewService makes the service. now is the clock of the rate limits and of the log; leases, trials and timestamps
// follow the database's.
func NewService(s *store.Store, config Config, now func() time.Time, log *slog.Logger) *Service {
	if config.Webhooks.Guard == nil {
		config.Webhooks.Guard = webhooks.NewGuard(webhooks.GuardOptions{})
	}
	if config.Webhooks.Sealer == nil {
		config.Webhooks.Sealer = webhooks.EphemeralSealer()
	}
	if config.RefundFees == nil {
		config.RefundFees = refunds.DefaultFees()
	}
	return &Service{
		store: s, config: config, guards: newGuards(config.Limits, now), log: log, failures: &failures{log: log, now: now},
		drain: drain{done: make(chan struct{})}, lines: &lines{all: map[lineKey][]*inLine{}},
	}
}

// Operations lists every operation, noun by noun. Built once: reading the shapes is not cheap.
var Operations = sync.OnceValue(func() []*Op {
	var all []*Op
	for _, ops := range [][]*Op{workspaceOps(), subkeyOps(), keyOps(), fileOps(), lockOps(), messageOps(), eventOps(), activityOps(), webhookOps(), depositOps(), refundOps(), feedbackOps(), pricingOps()} {
		all = append(all, ops...)
	}
	return all
})

// OperationNamed finds an operation by Def.Name; nil when there is none.
func OperationNamed(name string) *Op { return byName()[name] }

var byName = sync.OnceValue(func() map[string]*Op {
	all := map[string]*Op{}
	for _, o := range Operations() {
		all[o.Name] = o
	}
	return all
})

// Tools lists the operations that are MCP tools.
var Tools = sync.OnceValue(func() []*Op {
	return slices.DeleteFunc(slices.Clone(Operations()), func(o *Op) bool { return o.RESTOnly })
})

// Caller is one call under way: who makes it, and what it has cost.
type Caller struct {
	svc       *Service
	op        *Op
	key       Key
	want      *string // the workspace as the caller named it; nil when it did not
	cost      int64
	remaining *int64
	once      *once    // of a call with an idempotency key
	replayed  bool     // the answer is that of an earlier call
	waiting   *Waiting // the call has begun to wait
}

// Workspace is the id of the caller's workspace.
func (c *Caller) Workspace() uuid.UUID { return c.key.Workspace }

// fn is a call of a SQL function in the caller's name.
type fn struct {
	name  string
	price billing.Units
	args  []any // after the caller's own: key, workspace, guard, operation, price
	into  []any
	size  int // bytes of content

	once bool  // the function takes p_once as its last argument
	kept int   // how many of into the first answer fills in for a repeat; 0: all
	made []any // pointers to what was made for the answer and is in no column

	tell store.Change // what those who wait are told when it has succeeded; only of messages
}

// do makes the call on the workspace's lane. The error is a *Refusal or internal.
func (c *Caller) do(ctx context.Context, f fn) error {
	hash := c.key.Hash()
	args := append([]any{hash[:], c.want, c.op.guard(), c.op.Log, int64(f.price)}, f.args...)
	if f.once {
		once, err := c.onceArgument(f.made)
		if err != nil {
			return err
		}
		args = append(args, once)
	}
	result, err := c.again(ctx, store.Call{
		Function: f.name, Workspace: c.key.Workspace, Args: args, Into: f.into, Size: f.size, Tell: f.tell,
	}, f.once && c.once != nil)
	if err != nil {
		return storeError(err)
	}
	c.cost += result.Cost
	c.remaining = result.Remaining
	if result.Code == codeReplayed {
		return c.recall(result.Info, f)
	}
	if result.Code != "" {
		return refusalOf(result)
	}
	return nil
}

// isUnknown tells whether a call may or may not have happened.
func isUnknown(err error) bool { return errors.Is(err, store.ErrUnknown) }

// storeError turns a failure of the store into the refusal that the caller may see.
func storeError(err error) error {
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("%w: %w", Refuse(Unavailable), err)
	}
	return err
}

// newID makes an id; version 7 keeps the rows of one time together.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// newSecret makes a key and the parts of it that are stored.
func newSecret(owner bool, workspace uuid.UUID) (secret string, key Key, err error) {
	secret, err = NewKey(rand.Reader, owner, workspace)
	if err != nil {
		return "", Key{}, err
	}
	key, ok := ParseKey(secret)
	if !ok {
		return "", Key{}, errors.New("a new key does not parse")
	}
	return secret, key, nil
}
