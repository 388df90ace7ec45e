package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/store"
)

// TrialGrant is what a trial starts with.
const TrialGrant billing.Units = 100

const workspacePath = "/v1/workspaces/{workspace_id}"

func workspaceOps() []*Op {
	return []*Op{
		op(Def{
			Name: "create_workspace", Log: "CREATE_WORKSPACE", Method: "POST", Path: "/v1/workspaces", Who: Anyone,
			Price: billing.PriceOf("create_workspace"), Status: 201,
			Summary: "Create a workspace.",
			Doc: `A workspace and its owner key, shown this once: keep it. Then fund it (aanet_deposit) and mint a sub-key for each agent. Free; no key needed. ` +
				`Refusals: INVALID_ARGUMENT, RATE_LIMITED (60 an hour).`,
		}, createWorkspace),
		op(Def{
			Name: "create_trial_workspace", Log: "CREATE_WORKSPACE", Method: "POST", Path: "/v1/workspaces/trial", Who: Anyone,
			Price: billing.PriceOf("create_trial_workspace"), Status: 201,
			Summary: "Create a trial workspace.",
			Doc: `A workspace with 100 units, deleted after 24 hours; no deposits or refunds. Its owner key is shown this once. Free; no key needed. Refusals: ` +
				`RATE_LIMITED (10 an hour).`,
		}, createTrial),
		op(Def{
			Name: "get_workspace", Log: "GET_WORKSPACE", Method: "GET", Path: workspacePath, Who: AnyKey,
			Price: billing.PriceOf("get_workspace"), WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Show the workspace.",
			Doc:     `Label, balance, spend (units of $0.00001), trial and its end, whether the operator blocked it. Free. Refusals: UNAUTHENTICATED, NOT_FOUND.`,
		}, getWorkspace),
		op(Def{
			Name: "delete_workspace", Log: "DELETE_WORKSPACE", Method: "DELETE", Path: workspacePath, Who: Owner,
			Price: billing.PriceOf("delete_workspace"), WhileBlocked: true, Destructive: true, Final: true,
			Summary: "Delete a workspace for good.",
			Doc: `Deletes the workspace with everything in it, at once and for every key. The balance is forfeited (forfeited_units): request a refund first. Free; ` +
				`owner key. Refusals: OWNER_ONLY, REFUND_PENDING, DEPOSIT_PENDING.`,
		}, deleteWorkspace),
	}
}

// CreateWorkspaceIn is the input of create_workspace.
type CreateWorkspaceIn struct {
	Label string `json:"label" check:"label" doc:"A name for people, 1-200 characters."`
}

// CreateWorkspaceOut is the output of create_workspace. OwnerKey is not shown again.
type CreateWorkspaceOut struct {
	WorkspaceID string `json:"workspace_id"`
	Label       string `json:"label"`
	OwnerKey    string `json:"owner_key"`
	CreatedAt   Time   `json:"created_at"`
}

// CreateTrialOut is the output of create_trial_workspace.
type CreateTrialOut struct {
	WorkspaceID    string `json:"workspace_id"`
	Label          string `json:"label"`
	OwnerKey       string `json:"owner_key"`
	CreatedAt      Time   `json:"created_at"`
	TrialExpiresAt Time   `json:"trial_expires_at"`
}

func createWorkspace(ctx context.Context, c *Caller, in CreateWorkspaceIn) (CreateWorkspaceOut, error) {
	made, _, err := c.svc.newWorkspace(ctx, in.Label, nil, 0)
	return made, err
}

func createTrial(ctx context.Context, c *Caller, _ struct{}) (CreateTrialOut, error) {
	made, expires, err := c.svc.newWorkspace(ctx, "Trial", &c.svc.config.TrialTTL, TrialGrant)
	if err != nil {
		return CreateTrialOut{}, err
	}
	return CreateTrialOut{made.WorkspaceID, made.Label, made.OwnerKey, made.CreatedAt, Time{*expires}}, nil
}

// newWorkspace makes a workspace with its owner key; ttl is nil unless it is a trial.
func (s *Service) newWorkspace(ctx context.Context, label string, ttl *time.Duration, grant billing.Units) (CreateWorkspaceOut, *time.Time, error) {
	workspace := uuid.New() // random, not time-ordered: it is part of every key and spreads tenants over lanes
	secret, key, err := newSecret(true, workspace)
	if err != nil {
		return CreateWorkspaceOut{}, nil, err
	}
	hash := key.Hash()
	var created time.Time
	var expires *time.Time
	_, err = s.store.Do(ctx, store.Call{
		Function: "create_workspace", Workspace: workspace,
		Args: []any{label, hash[:], key.Last4, ttl, int64(grant), newID()},
		Into: []any{&created, &expires},
	})
	if err != nil {
		return CreateWorkspaceOut{}, nil, storeError(err)
	}
	return CreateWorkspaceOut{workspace.String(), label, secret, Time{created}}, expires, nil
}

// WorkspaceOut is the output of get_workspace. Money is in units.
type WorkspaceOut struct {
	WorkspaceID    string        `json:"workspace_id"`
	Label          string        `json:"label"`
	CreatedAt      Time          `json:"created_at"`
	DepositBalance billing.Units `json:"deposit_balance"`
	TotalSpent     billing.Units `json:"total_spent"`
	IsTrial        bool          `json:"is_trial"`
	TrialExpiresAt *Time         `json:"trial_expires_at"`
	Blocked        bool          `json:"blocked"`
}

func getWorkspace(ctx context.Context, c *Caller, _ struct{}) (WorkspaceOut, error) {
	i, err := c.inquire(ctx, nil)
	if err != nil {
		return WorkspaceOut{}, err
	}
	return WorkspaceOut{
		WorkspaceID: c.Workspace().String(), Label: i.label, CreatedAt: Time{i.createdAt},
		DepositBalance: i.balance, TotalSpent: i.spent, IsTrial: i.trialExpiresAt != nil,
		TrialExpiresAt: timeOrNil(i.trialExpiresAt), Blocked: i.blocked,
	}, nil
}

// identity is what functions/identify.sql tells of a caller and its workspace.
type identity struct {
	label          string
	createdAt      time.Time
	trialExpiresAt *time.Time
	blocked        bool
	balance, spent billing.Units
	subkeyID       *uuid.UUID
	keyLabel       string
	scope          *string
	budgetCap      *int64
	keySpent       int64
	now            time.Time
	limits         store.SpendLimits
	windowLeft     *int64 // units that the spend limits leave for now; nil without any
}

// inquire proves the caller for a free read; path is what a refusal's log row names.
func (c *Caller) inquire(ctx context.Context, path *string) (identity, error) {
	var i identity
	err := c.do(ctx, fn{name: "identify", args: []any{path}, into: []any{
		&i.label, &i.createdAt, &i.trialExpiresAt, &i.blocked, &i.balance, &i.spent,
		&i.subkeyID, &i.keyLabel, &i.scope, &i.budgetCap, &i.keySpent, &i.now,
		&i.limits.PerHour, &i.limits.PerDay, &i.windowLeft,
	}})
	return i, err
}

// DeleteWorkspaceOut is the output of delete_workspace.
type DeleteWorkspaceOut struct {
	WorkspaceID    string        `json:"workspace_id"`
	Deleted        bool          `json:"deleted"`
	ForfeitedUnits billing.Units `json:"forfeited_units"`
}

func deleteWorkspace(ctx context.Context, c *Caller, _ struct{}) (DeleteWorkspaceOut, error) {
	out := DeleteWorkspaceOut{WorkspaceID: c.Workspace().String(), Deleted: true}
	err := c.do(ctx, fn{name: "delete_workspace", args: []any{newID()}, into: []any{&out.ForfeitedUnits}})
	return out, err
}

// timeOrNil keeps null as null.
func timeOrNil(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

// idOrNil keeps null as null.
func idOrNil(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	return new(id.String())
}

// knownID gives the id, or one that nothing has when the text is no id: it is then not found, like any other.
func knownID(s string) uuid.UUID {
	id, _ := ParseID(s)
	return id
}
