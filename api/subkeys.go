package api

import (
	"context"

	"aanet/billing"
	"aanet/store"
)

// SubkeysMax is how many sub-keys a workspace may have, revoked ones included.
const SubkeysMax = 10_000

const subkeyPath = workspacePath + "/subkeys"

func subkeyOps() []*Op {
	return []*Op{
		op(Def{
			Name: "mint_subkey", Log: "MINT_SUBKEY", Method: "POST", Path: subkeyPath, Who: Owner,
			Price: billing.PriceOf("mint_subkey"), Status: 201,
			Summary: "Mint a key for one agent.",
			Doc: `Makes a sub-key, shown this once. path_scope_prefix limits it to that path and what is below, by whole segments (files and lock names; messages are ` +
				`not scoped); budget_cap limits its spend in all, spend_limit_per_hour and _per_day in any hour and day (units, 1 to 2^53-1). At most 10,000 a ` +
				`workspace. Free; owner key. Refusals: OWNER_ONLY, INVALID_ARGUMENT, WORKSPACE_BLOCKED, SUBKEY_LIMIT.`,
		}, mintSubkey),
		op(Def{
			Name: "list_subkeys", Log: "LIST_SUBKEYS", Method: "GET", Path: subkeyPath, Who: Owner,
			Price: billing.PriceOf("list_subkeys"), WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "List all sub-keys with their spend.",
			Doc: `Every sub-key, oldest first, revoked ones included: label, scope, cap, spend, last use. Keys are never shown again. Free; owner key. Refusals: ` +
				`OWNER_ONLY.`,
		}, listSubkeys),
		op(Def{
			Name: "update_subkey", Log: "UPDATE_SUBKEY", Method: "PATCH", Path: subkeyPath + "/{subkey_id}", Who: Owner,
			Price: billing.PriceOf("update_subkey"), Subject: "subkey_id", WhileBlocked: true, Idempotent: true,
			Summary: "Change a sub-key's scope, cap or limits.",
			Doc: `Changes only the fields given; clear takes limits away. It binds from the key's next call. A cap below what was spent stops the key. Free; owner key. ` +
				`Refusals: OWNER_ONLY, NOT_FOUND, SUBKEY_REVOKED, INVALID_ARGUMENT.`,
		}, updateSubkey),
		op(Def{
			Name: "revoke_subkey", Log: "REVOKE_SUBKEY", Method: "DELETE", Path: subkeyPath + "/{subkey_id}", Who: Owner,
			Price: billing.PriceOf("revoke_subkey"), Subject: "subkey_id", WhileBlocked: true, Destructive: true, Idempotent: true,
			Summary: "Revoke a sub-key and free its locks.",
			Doc: `The key is refused everywhere from now on, and its locks are free (released_locks). For good; again changes nothing. Free; owner key. Refusals: ` +
				`OWNER_ONLY, NOT_FOUND.`,
		}, revokeSubkey),
	}
}

// MintSubkeyIn is the input of mint_subkey.
type MintSubkeyIn struct {
	Label     string  `json:"label" check:"label" doc:"A name for people, 1-200 characters."`
	Scope     *string `json:"path_scope_prefix" check:"scope" doc:"Only this path and what is below."`
	BudgetCap *int64  `json:"budget_cap" min:"1" max:"9007199254740991" doc:"Units in all."`

	PerHour *int64 `json:"spend_limit_per_hour" min:"1" max:"9007199254740991" null:"unlisted" doc:"Units in any hour."`
	PerDay  *int64 `json:"spend_limit_per_day" min:"1" max:"9007199254740991" null:"unlisted" doc:"Units in any 24 hours."`
}

// MintSubkeyOut is the output of mint_subkey. Key is not shown again.
type MintSubkeyOut struct {
	SubkeyID string `json:"subkey_id"`
	Key      string `json:"key"`
}

func mintSubkey(ctx context.Context, c *Caller, in MintSubkeyIn) (MintSubkeyOut, error) {
	secret, key, err := newSecret(false, c.Workspace())
	if err != nil {
		return MintSubkeyOut{}, err
	}
	id, hash := newID(), key.Hash()
	out := MintSubkeyOut{SubkeyID: id.String(), Key: secret}
	err = c.do(ctx, fn{name: "mint_subkey", args: []any{
		id, hash[:], key.Last4, in.Label, in.Scope, in.BudgetCap, in.PerHour, in.PerDay, SubkeysMax,
	}, once: true, made: []any{&out.SubkeyID, &out.Key}})
	return out, err
}

// SubkeyOut is a sub-key in a list. Money is in units.
type SubkeyOut struct {
	SubkeyID        string        `json:"subkey_id"`
	Label           string        `json:"label"`
	PathScopePrefix *string       `json:"path_scope_prefix"`
	BudgetCap       *int64        `json:"budget_cap"`
	SpentSoFar      billing.Units `json:"spent_so_far"`
	Revoked         bool          `json:"revoked"`
	CreatedAt       Time          `json:"created_at"`
	LastUsedAt      *Time         `json:"last_used_at"`

	SpendLimitPerHour *int64 `json:"spend_limit_per_hour"`
	SpendLimitPerDay  *int64 `json:"spend_limit_per_day"`
}

func listSubkeys(ctx context.Context, c *Caller, _ struct{}) (List[SubkeyOut], error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return List[SubkeyOut]{}, err
	}
	rows, err := c.svc.store.Subkeys(ctx, c.Workspace())
	if err != nil {
		return List[SubkeyOut]{}, storeError(err)
	}
	out := make([]SubkeyOut, len(rows))
	for i, k := range rows {
		out[i] = subkeyOut(k)
	}
	return listOf(out), nil
}

func subkeyOut(k store.Subkey) SubkeyOut {
	return SubkeyOut{
		SubkeyID: k.ID.String(), Label: k.Label, PathScopePrefix: k.Scope, BudgetCap: k.BudgetCap, SpentSoFar: billing.Units(k.Spent),
		Revoked: k.RevokedAt != nil, CreatedAt: Time{k.CreatedAt}, LastUsedAt: timeOrNil(k.LastUsedAt),
		SpendLimitPerHour: k.PerHour, SpendLimitPerDay: k.PerDay,
	}
}

// UpdateSubkeyIn is the input of update_subkey.
type UpdateSubkeyIn struct {
	SubkeyID  string  `json:"subkey_id" check:"id" doc:"The sub-key's id."`
	Scope     *string `json:"path_scope_prefix" check:"scope" doc:"The new scope; null leaves it."`
	BudgetCap *int64  `json:"budget_cap" min:"1" max:"9007199254740991" doc:"The new cap in units; null leaves it."`

	PerHour *int64    `json:"spend_limit_per_hour" min:"1" max:"9007199254740991" null:"unlisted" doc:"Units in any hour."`
	PerDay  *int64    `json:"spend_limit_per_day" min:"1" max:"9007199254740991" null:"unlisted" doc:"Units in any 24 hours."`
	Clear   *[]string `json:"clear" null:"unlisted" doc:"Names of limits to take away."`
}

// fault refuses to clear what cannot be, and what is set by the same call.
func (in UpdateSubkeyIn) fault() (*FieldFault, []string) {
	if in.Clear == nil {
		return nil, nil
	}
	set := map[string]bool{
		"path_scope_prefix": in.Scope != nil, "budget_cap": in.BudgetCap != nil,
		"spend_limit_per_hour": in.PerHour != nil, "spend_limit_per_day": in.PerDay != nil,
	}
	for _, name := range *in.Clear {
		isSet, known := set[name]
		switch {
		case !known:
			return &FieldFault{"clear", "may name path_scope_prefix, budget_cap, spend_limit_per_hour and spend_limit_per_day only"}, []string{"clear"}
		case isSet:
			return &FieldFault{name, "is set and cleared at once"}, []string{"clear", name}
		}
	}
	return nil, nil
}

func updateSubkey(ctx context.Context, c *Caller, in UpdateSubkeyIn) (SubkeyOut, error) {
	k := store.Subkey{ID: knownID(in.SubkeyID)}
	err := c.do(ctx, fn{
		name: "update_subkey", args: []any{k.ID, in.Scope, in.BudgetCap, in.PerHour, in.PerDay, in.Clear},
		into: []any{&k.Label, &k.Scope, &k.BudgetCap, &k.Spent, &k.CreatedAt, &k.LastUsedAt, &k.PerHour, &k.PerDay}, once: true,
	})
	return subkeyOut(k), err
}

// SubkeyIn names a sub-key.
type SubkeyIn struct {
	SubkeyID string `json:"subkey_id" check:"id" doc:"The sub-key's id."`
}

// RevokeSubkeyOut is the output of revoke_subkey.
type RevokeSubkeyOut struct {
	SubkeyID      string   `json:"subkey_id"`
	Revoked       bool     `json:"revoked"`
	ReleasedLocks []string `json:"released_locks"`
}

func revokeSubkey(ctx context.Context, c *Caller, in SubkeyIn) (RevokeSubkeyOut, error) {
	id := knownID(in.SubkeyID)
	out := RevokeSubkeyOut{SubkeyID: id.String(), Revoked: true}
	err := c.do(ctx, fn{name: "revoke_subkey", args: []any{id}, into: []any{&out.ReleasedLocks}, once: true})
	return out, err
}
