package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"

	"aanet/store"
)

// Request is one call as a door hands it over.
type Request struct {
	Credential string         // the key as presented; "" when there is none
	Workspace  *string        // the workspace as named; nil when the caller named none
	Input      map[string]any // as DecodeObject gives it; query values are Text
	Fault      *Refusal       // what made the body unreadable; Input is then nil
	Faults     []FieldFault   // what the door found wrong with the readable input
	Lenient    bool           // take exact values in strings (MCP)
	Address    netip.Addr     // of the client, for limits on strangers
	Bytes      int            // of the request body
	ID         string         // of the request, for the log
}

// Answer is what a call came to. Exactly one of Out and Refusal is set.
type Answer struct {
	Out           any
	Offer         bool // Out says what has to be done first: the call did nothing and was not refused
	Refusal       *Refusal
	Status        int               // for REST
	Headers       map[string]string // that REST shows beside the usual ones; nil when there are none
	Meta          map[string]any    // what MCP shows in _meta beside the usual; nil when there is nothing
	Cost          int64             // units charged
	Remaining     *int64            // units this key can still spend; nil for strangers
	Authenticated bool
}

// Call runs an operation, and waits for its answer. It answers every input; what is no refusal is logged once and shown
// as INTERNAL.
func (s *Service) Call(ctx context.Context, o *Op, r Request) Answer {
	a, waiting := s.Begin(ctx, o, r)
	if waiting != nil {
		return waiting.Finish(ctx)
	}
	return a
}

// Begin is Call, but for one that has to wait: that is given back, and there is no answer yet.
func (s *Service) Begin(ctx context.Context, o *Op, r Request) (Answer, *Waiting) {
	c := &Caller{svc: s, op: o, want: named(r.Workspace)}
	out, err := s.serve(ctx, c, r)
	if w := c.waiting; w != nil {
		c.waiting, w.request = nil, r
		w.request.Input = nil
		return Answer{}, w
	}
	return s.answer(ctx, c, r, out, err), nil
}

// answer is what a call came to.
func (s *Service) answer(ctx context.Context, c *Caller, r Request, out any, err error) Answer {
	a := Answer{Out: out, Cost: c.cost, Remaining: c.remaining, Authenticated: c.remaining != nil}
	if err == nil {
		a.Status = statusOf(c.op, out)
		if p, ok := out.(presented); ok {
			p.present(&a)
		}
		if c.replayed {
			a.showReplayed()
		}
		return a
	}
	a.Out = nil
	if !errors.As(err, &a.Refusal) {
		a.Refusal = Refuse(Internal)
	}
	if internal := a.Refusal.Code == Internal || a.Refusal.Code == Unavailable; internal && ctx.Err() == nil {
		s.failures.failed(ctx, c.op, r, a.Refusal.Code, err)
	}
	a.Status = a.Refusal.Status()
	return a
}

// named gives the workspace as the caller named it. An id that cannot exist becomes one that never
// matches, so that it is refused like any other unknown id and hostile bytes go no further.
func named(workspace *string) *string {
	if workspace == nil {
		return nil
	}
	if _, ok := ParseID(*workspace); !ok {
		return new("unknown")
	}
	return workspace
}

// presented is implemented by outputs that are not shown as they are, or with something beside them.
type presented interface{ present(*Answer) }

// created is implemented by outputs that may have made something new.
type created interface{ isNew() bool }

func statusOf(o *Op, out any) int {
	if c, ok := out.(created); ok && c.isNew() {
		return 201
	}
	if o.Status != 0 {
		return o.Status
	}
	return 200
}

// serve keeps the order of refusals: the caller, then the input, then what the rule finds.
func (s *Service) serve(ctx context.Context, c *Caller, r Request) (any, error) {
	if c.op.Who == Anyone {
		if refusal := s.guards.stranger(c.op, r.Address); refusal != nil {
			return nil, refusal
		}
		in, refusal := c.op.read(r)
		if refusal != nil {
			return nil, refusal
		}
		return c.op.run(ctx, c, in)
	}
	key, ok := ParseKey(r.Credential)
	if !ok {
		return nil, s.guards.failedKey(r.Address)
	}
	c.key = key
	if refusal := s.guards.key(key, r.Bytes); refusal != nil {
		return nil, refusal
	}
	in, refusal := c.op.read(r)
	if refusal != nil {
		return nil, s.checked(c.refuse(ctx, refusal, r.Input), key, r)
	}
	var err error
	if c.once, err = c.op.onceOf(r.Input, in); err != nil {
		return nil, err
	}
	out, err := c.op.run(ctx, c, in)
	return out, s.checked(err, key, r)
}

// checked counts keys that turned out to be no good against the address they came from. A revoked one is
// limited by what it may write into its workspace's log, and like any other key.
func (s *Service) checked(err error, key Key, r Request) error {
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == Unauthenticated {
		if isLogged(refusal) {
			return Refuse(Unauthenticated)
		}
		s.guards.forget(key)
		return s.guards.failedKey(r.Address)
	}
	return err
}

// isLogged tells whether a workspace has a row about a key that is no longer good (functions/settle.sql).
func isLogged(refusal *Refusal) bool {
	_, logged := refusal.Extra["logged"]
	return logged
}

// read checks the input and fills the operation's struct.
func (o *Op) read(r Request) (any, *Refusal) {
	if r.Fault != nil {
		return nil, r.Fault
	}
	in, found := o.In.decode(r.Input, r.Lenient)
	faults := slices.Clone(r.Faults)
	for _, f := range found {
		if !isAbout(faults, f.Field) {
			faults = append(faults, f)
		}
	}
	if whole, ok := in.(related); ok {
		if f, of := whole.fault(); f != nil && !isAbout(faults, of...) {
			faults = append(faults, *f)
		}
	}
	if faults != nil {
		refusal := Refuse(InvalidArgument)
		refusal.Errors = faults
		return nil, refusal
	}
	if sized, ok := in.(interface{ tooLarge() *Refusal }); ok {
		if refusal := sized.tooLarge(); refusal != nil {
			return nil, refusal
		}
	}
	return in, nil
}

// related is implemented by inputs of which some fields depend on each other. The fault counts only when the
// fields that it was found in are in order themselves.
type related interface {
	fault() (f *FieldFault, of []string)
}

// isAbout tells whether one of the faults is about one of the fields.
func isAbout(faults []FieldFault, fields ...string) bool {
	return slices.ContainsFunc(faults, func(f FieldFault) bool { return slices.Contains(fields, f.Field) })
}

// refuse answers a wrong input, once the caller is proved and admitted, and logs it in the workspace.
func (c *Caller) refuse(ctx context.Context, refusal *Refusal, input map[string]any) error {
	detail, separator := refusal.Detail, " "
	for _, f := range refusal.Errors {
		detail += separator + f.Field + " " + f.Message
		separator = "; "
	}
	err := c.do(ctx, fn{name: "refuse", args: []any{c.op.subject(input), string(refusal.Code), cut(detail, 500)}})
	var found *Refusal
	if errors.As(err, &found) && found.Code == refusal.Code {
		return refusal // with its list of faults
	}
	return err
}

// subject is what the log row of a refused input names: the path, lock or topic, when that was in order.
func (o *Op) subject(input map[string]any) *string {
	f, ok := o.In.Field(o.Subject)
	if !ok {
		return nil
	}
	value, fault := f.convert(input[f.Name], true)
	if s, isText := value.(string); isText && fault == "" && (s == "" || nameFault(s, pathBytesMax) == "") { // an id may be anything
		return &s
	}
	return nil
}

// cut shortens a text to n bytes at most, at a code point.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// refusalOf makes the refusal that a SQL function answered.
func refusalOf(result store.Result) error {
	refusal := Refuse(Code(result.Code))
	if len(result.Info) > 0 {
		if err := json.Unmarshal(result.Info, &refusal.Extra); err != nil {
			return err
		}
	}
	return refusal
}

// KindOf tells what kind of caller a credential makes: Owner, AnyKey for a sub-key, or Anyone for one
// that is no good. It is for showing the right list of tools and decides nothing.
func (s *Service) KindOf(ctx context.Context, credential string) Who {
	key, ok := ParseKey(credential)
	if !ok {
		return Anyone
	}
	hash := key.Hash()
	alive, err := s.store.KeyAlive(ctx, key.Workspace, hash[:])
	switch {
	case err != nil || !alive:
		return Anyone
	case key.Owner:
		return Owner
	}
	return AnyKey
}
