package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Found is one thing that a search of the operator's found.
type Found struct {
	Kind      string // Found…
	Workspace uuid.UUID
	Label     string     // of the workspace
	ID        *uuid.UUID // of the thing; nil: the workspace itself
	Text      string     // what matched, or what tells the thing from others
	At        time.Time  // when it was made
}

// The kinds of things that are found.
const (
	FoundWorkspace = "workspace"
	FoundKey       = "key"
	FoundDeposit   = "deposit"
	FoundRefund    = "refund"
	FoundWebhook   = "webhook"
)

// FoundMax is how many things of one kind a search shows, the newest.
const FoundMax = 20

// finder looks for one kind of thing; its query takes the text and the limit.
type finder struct {
	kind, query string
}

var (
	byID = []finder{
		{FoundWorkspace, `select $1::uuid::text, null::uuid, workspace_id, created_at from workspaces where workspace_id = $1::uuid limit $2`},
		{FoundKey, `select last4, subkey_id, workspace_id, created_at from keys where subkey_id = $1::uuid limit $2`},
		{FoundDeposit, `select state || ' on ' || network, deposit_id, workspace_id, created_at from deposits where deposit_id = $1::uuid limit $2`},
		{FoundRefund, `select state || ' to ' || destination, refund_id, workspace_id, requested_at from refunds where refund_id = $1::uuid limit $2`},
		{FoundWebhook, `select h.host, h.webhook_id, h.workspace_id, w.created_at from webhook_hosts h join webhooks w using (workspace_id, webhook_id)
			where w.webhook_id = $1::uuid and w.deleted_at is null limit $2`},
	}
	byLast4       = finder{FoundKey, `select last4, subkey_id, workspace_id, created_at from keys where last4 = $1 order by created_at desc limit $2`}
	byTransaction = []finder{
		{FoundDeposit, `select tx_hash, deposit_id, workspace_id, created_at from deposits where tx_hash = $1 order by created_at desc limit $2`},
		{FoundRefund, `select tx_hash, refund_id, workspace_id, requested_at from refunds where tx_hash = $1 order by requested_at desc limit $2`},
	}
	// Materialized, or a planner that takes the address for a frequent one walks over all deposits by time.
	byAddress = []finder{
		{FoundDeposit, `with all_ as materialized (select payer, deposit_id, workspace_id, created_at from deposits
			where payer is not null and lower(payer) = lower($1) and (payer = $1 or payer like '0x%')) select * from all_ order by created_at desc limit $2`},
		{FoundRefund, `with all_ as materialized (select destination, refund_id, workspace_id, requested_at from refunds
			where lower(destination) = lower($1) and (destination = $1 or destination like '0x%')) select * from all_ order by requested_at desc limit $2`},
	}
	// Webhook by webhook, the newest first, or a planner that expects few of them to be alive joins all of a frequent host.
	byHost = finder{FoundWebhook, `select h.host, h.webhook_id, h.workspace_id, w.created_at from webhook_hosts h cross join lateral (
			select w.created_at from webhooks w where w.workspace_id = h.workspace_id and w.webhook_id = h.webhook_id and w.deleted_at is null limit 1) w
		where h.host = lower($1) order by h.webhook_id desc limit $2`}
	byLabel = finder{FoundWorkspace, `select label, null::uuid, workspace_id, created_at from workspaces
		where deleted_at is null and lower(label) like lower($1) order by lower(label) using ~<~ limit $2`}
)

// Find looks for what an operator has of a tenant: an id of a workspace, sub-key, deposit, refund or webhook, the last four
// characters of a key, a transaction, an address, the host of a webhook, or how a workspace's label begins. Each kind is
// found by an index. text is at most 300 bytes and has no NUL.
func (s *Store) Find(ctx context.Context, text string) ([]Found, error) {
	text = strings.TrimSpace(text)
	var found []Found
	seen := map[string]bool{}
	for _, f := range findersOf(text) {
		wanted := text
		if f.kind == FoundWorkspace && f.query == byLabel.query {
			wanted = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
		}
		rows, err := collect[Found](ctx, s, `
			select '`+f.kind+`', f.workspace_id, w.label, f.id, f.shown, f.at
			  from (`+f.query+`) f (shown, id, workspace_id, at) join workspaces w on w.workspace_id = f.workspace_id order by f.at desc`, wanted, FoundMax)
		if err != nil {
			return nil, fmt.Errorf("find a %s: %w", f.kind, err)
		}
		for _, r := range rows {
			if key := fmt.Sprint(r.Kind, r.Workspace, r.ID, r.Text, r.At); !seen[key] {
				seen[key] = true
				found = append(found, r)
			}
		}
	}
	return found, nil
}

// findersOf tells what a text may be.
func findersOf(text string) (all []finder) {
	id, err := uuid.Parse(text)
	isID := err == nil && id.String() == strings.ToLower(text)
	word := text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
	if isID {
		all = append(all, byID...)
	}
	if word && len(text) == 4 {
		all = append(all, byLast4)
	}
	if word && len(text) >= 30 && !isID {
		all = append(all, byTransaction...)
		all = append(all, byAddress...)
	}
	if word && strings.Contains(text, ".") || text == "localhost" {
		all = append(all, byHost)
	}
	if text != "" && !isID {
		all = append(all, byLabel)
	}
	return all
}
