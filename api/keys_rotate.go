package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
)

// rotateOverlap is how long a key that was replaced still works, unless the new one is used before.
const rotateOverlap = 10 * time.Minute

func keyOps() []*Op {
	return []*Op{op(Def{
		Name: "rotate_key", Log: "ROTATE_KEY", Method: "POST", Path: workspacePath + "/keys/rotate", Who: Owner,
		Price: billing.PriceOf("rotate_key"), Subject: "subkey_id", WhileBlocked: true, Destructive: true,
		Summary: "Replace a key by a new one.",
		Doc: `A new key for a sub-key, or for the owner without subkey_id; it is shown this once. The one before works until the new one is first used, for 10 ` +
			`minutes at most (previous_valid_until); with immediate it is dead at once: if the answer is lost then, so is an owner key. Scope, cap, spend, locks ` +
			`and messages stay. Free; owner key. Refusals: OWNER_ONLY, NOT_FOUND, SUBKEY_REVOKED.`,
	}, rotateKey)}
}

// RotateKeyIn is the input of rotate_key.
type RotateKeyIn struct {
	SubkeyID  *string `json:"subkey_id" check:"id" null:"unlisted" doc:"Null: the owner's key."`
	Immediate bool    `json:"immediate" default:"false" doc:"The old key dies at once."`
}

// RotateKeyOut is the output of rotate_key. Key is not shown again; a null subkey_id is the owner.
type RotateKeyOut struct {
	SubkeyID           *string `json:"subkey_id"`
	Key                string  `json:"key"`
	PreviousValidUntil Time    `json:"previous_valid_until"`
}

func rotateKey(ctx context.Context, c *Caller, in RotateKeyIn) (RotateKeyOut, error) {
	secret, key, err := newSecret(in.SubkeyID == nil, c.Workspace())
	if err != nil {
		return RotateKeyOut{}, err
	}
	var id *uuid.UUID
	if in.SubkeyID != nil {
		id = new(knownID(*in.SubkeyID))
	}
	overlap := rotateOverlap
	if in.Immediate {
		overlap = 0
	}
	out, hash := RotateKeyOut{SubkeyID: idOrNil(id), Key: secret}, key.Hash()
	err = c.do(ctx, fn{
		name: "rotate_key", args: []any{id, hash[:], key.Last4, overlap},
		into: []any{&out.PreviousValidUntil.Time}, once: true, made: []any{&out.Key},
	})
	return out, err
}
