package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api"
)

// tool answers the calls of one operation.
func (d *door) tool(op *api.Op) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		in := inboundOf(ctx)
		in.meta = req.Params.Meta
		ctx, stop := in.untilGone(ctx)
		defer stop()
		if in.streams {
			stop := d.tellProgress(ctx, req)
			defer stop()
		}
		answer := d.answer(ctx, op, in)
		status, code := answer.Status, api.Code("")
		if answer.Refusal != nil {
			code = answer.Refusal.Code
		}
		if ctx.Err() != nil && status >= http.StatusInternalServerError {
			status, code = statusClientGone, api.ClientGone
		}
		in.answered.Store(true)
		d.options.Metrics.Observe("mcp", op.Name, status, code, in.timer.ObserveDuration().Seconds())
		return in.result(op, answer)
	}
}

// statusClientGone is what proxies log when nobody waited for the answer.
const statusClientGone = 499

// answer runs the operation. The SDK would let a panic end the process.
func (d *door) answer(ctx context.Context, op *api.Op, in *inbound) (answer api.Answer) {
	defer func() {
		if fault := recover(); fault != nil {
			d.logPanic(ctx, op.Name, in, fault)
			refusal := api.Refuse(api.Internal)
			answer = api.Answer{Refusal: refusal, Status: refusal.Status()}
		}
	}()
	r := in.callOf(op)
	if in.keyIsLost(r) {
		return api.Answer{Refusal: r.Fault, Status: r.Fault.Status()}
	}
	return d.svc.Call(ctx, op, r)
}

func (d *door) logPanic(ctx context.Context, what string, in *inbound, fault any) {
	d.options.Log.ErrorContext(ctx, "panic", "door", "mcp", "operation", what, "request_id", in.id,
		"error", fmt.Sprint(fault), "stack", string(debug.Stack()))
}

// callOf gathers what the operation is called with. Of two keys the argument counts.
func (in *inbound) callOf(op *api.Op) api.Request {
	r := api.Request{Credential: in.bearer, Lenient: true, Address: in.address, Bytes: in.size, ID: in.id}
	r.Input, r.Fault = arguments(in.arguments)
	if r.Fault != nil {
		return r
	}
	r.Faults = in.takeMeta(op, r.Input)
	if op.Who == api.Anyone {
		return r
	}
	key, withKey := take(r.Input, argKey)
	if withKey {
		r.Credential, _ = key.(string) // anything but a string is no key
	}
	if !op.InWorkspace() {
		return r
	}
	workspace, named := take(r.Input, argWorkspace)
	id, isText := workspace.(string)
	switch {
	case named && isText:
		r.Workspace = &id
	case named:
		r.Faults = append(r.Faults, api.FieldFault{Field: argWorkspace, Message: "must be a string"})
	case withKey:
		r.Faults = append(r.Faults, api.FieldFault{Field: argWorkspace, Message: "is required together with api_key"})
	}
	return r
}

// keyIsLost tells whether a key was sent in arguments that cannot be read: to answer that none was presented would mislead.
func (in *inbound) keyIsLost(r api.Request) bool {
	return r.Credential == "" && r.Fault != nil && r.Fault.Code == api.Malformed && bytes.Contains(in.arguments, []byte(`"`+argKey+`"`))
}

// takeMeta takes the arguments that may come in the message's _meta: a text, or any JSON.
func (in *inbound) takeMeta(op *api.Op, input map[string]any) (faults []api.FieldFault) {
	for _, f := range op.In.Fields {
		value, there := in.meta[f.Meta]
		if f.Meta == "" || !there || value == nil {
			continue
		}
		text, isText := value.(string)
		if !isText {
			encoded, err := encode(value)
			if err != nil {
				faults = append(faults, api.FieldFault{Field: f.Name, Message: "cannot be read from _meta"})
				continue
			}
			text = string(encoded)
		}
		if given := input[f.Name]; given != nil && given != any(text) {
			faults = append(faults, api.FieldFault{Field: f.Name, Message: "differs from " + f.Meta + " in _meta"})
			continue
		}
		input[f.Name] = text
	}
	return faults
}

// arguments reads them strictly; none and null are an empty object.
func arguments(raw []byte) (map[string]any, *api.Refusal) {
	if bytes.Equal(raw, []byte("null")) {
		raw = nil
	}
	return api.DecodeBody(raw)
}

// take removes an argument; null counts as absent.
func take(input map[string]any, name string) (any, bool) {
	value := input[name]
	delete(input, name)
	return value, value != nil
}

// structuredMax is the size up to which a result that has no output schema is sent a second time as structured
// content.
const structuredMax = 64 << 10

// shownMax is the size in bytes up to which common clients show a result to the model as it is; Claude Code puts what has
// more than 50,000 characters into a file.
const shownMax = 50_000

// withNotice puts how to get a long result in parts before everything else in it, where it is read even if the rest is cut.
func withNotice(op *api.Op, object []byte) ([]byte, error) {
	notice, err := encode(fmt.Sprintf("This result has %d bytes, of which many clients show a model only a part. %s", len(object), op.Parts))
	if err != nil {
		return nil, err
	}
	return append(append([]byte(`{"notice":`), append(notice, ',')...), object[1:]...), nil
}

// result shows an answer: the object as text and, on success, as structured content too.
func (in *inbound) result(op *api.Op, answer api.Answer) (*sdk.CallToolResult, error) {
	meta := sdk.Meta{"aanet/cost": answer.Cost, "aanet/request_id": in.id}
	if answer.Remaining != nil {
		meta["aanet/remaining_balance"] = *answer.Remaining
	}
	var shown any = answer.Out
	if answer.Refusal != nil {
		shown = answer.Refusal
	}
	maps.Copy(meta, answer.Meta)
	text, err := encode(shown)
	if err == nil && answer.Refusal == nil && op.Parts != "" && len(text) > shownMax {
		text, err = withNotice(op, text)
	}
	if err != nil {
		return nil, fmt.Errorf("result of %s: %w", op.Name, err)
	}
	result := &sdk.CallToolResult{
		Meta: meta, IsError: answer.Refusal != nil || answer.Offer, Content: []sdk.Content{&sdk.TextContent{Text: string(text)}},
	}
	if answer.Offer || !result.IsError && (op.IsList || len(text) <= structuredMax) {
		result.StructuredContent = json.RawMessage(text)
	}
	return result, nil
}

// encode gives compact JSON that leaves < > & as they are.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// receive stands before the SDK's methods: it gives each caller its own list of tools and outlives panics.
func (d *door) receive(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if fault := recover(); fault != nil {
				d.logPanic(ctx, "protocol", inboundOf(ctx), fault)
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		if list, ok := req.(*sdk.ListToolsRequest); ok {
			return d.list(ctx, list)
		}
		return next(ctx, method, req)
	}
}

// list is all tools in one page, as far as the key in the header may call them.
func (d *door) list(ctx context.Context, req *sdk.ListToolsRequest) (sdk.Result, error) {
	if req.Params != nil && req.Params.Cursor != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown cursor: all tools come in one page"}
	}
	kind := api.Anyone
	if in := inboundOf(ctx); in.bearer != "" {
		kind = d.svc.KindOf(ctx, in.bearer)
	}
	return &sdk.ListToolsResult{Tools: d.lists[kind], Cacheable: cacheable}, nil
}

// untilGone ends the context with the HTTP request: the SDK does that for the newest protocol only.
func (in *inbound) untilGone(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(in.gone, cancel)
	return ctx, func() { stop(); cancel() }
}
