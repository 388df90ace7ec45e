package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"aanet/store"
)

// IdempotencyHeader is how REST takes the idempotency key of a call; MCP has an argument.
const IdempotencyHeader = "Idempotency-Key"

const idempotencyField = "idempotency_key"

// TakesIdempotencyKey tells whether the operation can be repeated safely under a key of the caller's choice.
func (o *Op) TakesIdempotencyKey() bool { return o.Who != Anyone && !o.ReadOnly && !o.Final }

// idempotencyKey is the input that an operation has besides its own.
func idempotencyKey() Field {
	return Field{
		Name: idempotencyField, Kind: KindString, Check: "idempotency", Nullable: true, Header: IdempotencyHeader, HeaderOnly: true, Unlisted: true, Known: true, index: notInStruct,
		Doc: "A key of yours, 1-255 printable ASCII: the same call with it within 24 hours gets the first success again, free.",
	}
}

// idempotencyFault takes 1 to 255 printable ASCII characters.
func idempotencyFault(s string) string {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return "must have printable ASCII characters only"
		}
	}
	if s == "" || len(s) > 255 {
		return "must have 1 to 255 characters"
	}
	return ""
}

// once is the identity of a call with an idempotency key. A repeat has the same.
type once struct {
	key  string
	hash [sha256.Size]byte // of the operation and its input
}

// onceOf reads the key of a call whose input was found in order; nil when it has none.
func (o *Op) onceOf(input map[string]any, in any) (*once, error) {
	f, takes := o.In.Field(idempotencyField)
	if !takes || input[idempotencyField] == nil {
		return nil, nil
	}
	value, _ := f.text(input[idempotencyField])
	key, _ := value.(string)
	canonical, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", o.Name, err)
	}
	return &once{key, sha256.Sum256(append([]byte(o.Name+"\n"), canonical...))}, nil
}

// onceArgument is what the SQL functions take as p_once: nil without a key. made is what was made for the
// answer, which a repeat must get again: encrypted, as it may be a secret.
func (c *Caller) onceArgument(made []any) (any, error) {
	if c.once == nil {
		return nil, nil
	}
	argument := map[string]string{"key": c.once.key, "hash": hex.EncodeToString(c.once.hash[:])}
	if made != nil {
		text, err := json.Marshal(made)
		if err != nil {
			return nil, fmt.Errorf("what was made: %w", err)
		}
		sealed := c.svc.config.Webhooks.Sealer.Seal(c.Workspace(), c.once.id(), string(text))
		argument["made"] = base64.StdEncoding.EncodeToString(sealed)
	}
	return argument, nil
}

// id binds what is encrypted to its call.
func (o *once) id() uuid.UUID { return uuid.UUID(o.hash[:16]) }

// codeReplayed is what functions/replay.sql answers for a repeat; no caller sees it.
const codeReplayed = "REPLAYED"

// recall fills in the first answer.
func (c *Caller) recall(info []byte, f fn) error {
	c.replayed = true
	var kept struct {
		Answer []json.RawMessage `json:"answer"`
		Made   *string           `json:"made"`
	}
	if err := json.Unmarshal(info, &kept); err != nil {
		return fmt.Errorf("kept answer of %s: %w", f.name, err)
	}
	if kept.Made != nil {
		sealed, err := base64.StdEncoding.DecodeString(*kept.Made)
		if err != nil {
			return fmt.Errorf("kept answer of %s: %w", f.name, err)
		}
		text, err := c.svc.config.Webhooks.Sealer.Open(c.Workspace(), c.once.id(), sealed)
		if err != nil {
			return fmt.Errorf("kept answer of %s: %w", f.name, err)
		}
		var made []json.RawMessage
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			return fmt.Errorf("kept answer of %s: %w", f.name, err)
		}
		if err := fill(f.made, made); err != nil {
			return fmt.Errorf("kept answer of %s: %w", f.name, err)
		}
	}
	into := f.into
	if f.kept > 0 {
		into = into[:f.kept]
	}
	if err := fill(into, kept.Answer); err != nil {
		return fmt.Errorf("kept answer of %s: %w", f.name, err)
	}
	return nil
}

// fill decodes one part into each target.
func fill(targets []any, parts []json.RawMessage) error {
	if len(targets) != len(parts) {
		return fmt.Errorf("it has %d parts, not %d", len(parts), len(targets))
	}
	for i, part := range parts {
		if err := json.Unmarshal(part, targets[i]); err != nil {
			return err
		}
	}
	return nil
}

// again makes a call; one whose outcome was lost is made once more when that cannot do it twice.
func (c *Caller) again(ctx context.Context, call store.Call, safe bool) (store.Result, error) {
	result, err := c.svc.store.Do(ctx, call)
	if safe && isUnknown(err) {
		return c.svc.store.Do(ctx, call)
	}
	return result, err
}

// begin notes that an operation of several steps begins. It gives since when a call with the same key and input may
// be under way or done, this one included; nil without a key.
func (c *Caller) begin(ctx context.Context) (*time.Time, error) {
	if c.once == nil {
		return nil, nil
	}
	var begun *time.Time
	err := c.do(ctx, fn{name: "begin_answer", into: []any{&begun}, once: true})
	return begun, err
}

// end notes that the operation has succeeded. If that is lost, another call may still take the key.
func (c *Caller) end(ctx context.Context) {
	if c.once == nil {
		return
	}
	if err := c.do(ctx, fn{name: "end_answer", once: true}); err != nil {
		c.svc.log.WarnContext(ctx, "an idempotency key was not noted as used", "operation", c.op.Name, "error", err.Error())
	}
}

// showReplayed tells the caller that the answer is that of an earlier call.
func (a *Answer) showReplayed() {
	headers, meta := map[string]string{"Idempotent-Replayed": "true"}, map[string]any{"aanet/replayed": true}
	maps.Copy(headers, a.Headers)
	maps.Copy(meta, a.Meta)
	a.Headers, a.Meta = headers, meta
}
