package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"
)

// answerBytesMax bounds what is read of an answer: 500 messages of 4,000 escaped characters are half of it.
const answerBytesMax = 32 << 20

// timeLayout is how the service writes timestamps; as many digits as it keeps, so none is lost on the way back.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Meta is what the service says about a call besides its answer.
type Meta struct {
	Operation string // such as write_file
	Status    int    // of HTTP; 0 when there was no answer
	Cost      int64  // units charged
	Remaining *int64 // units that the key can still spend; nil when the call was not authenticated
	RequestID string // names the call to the operator
	Attempts  int    // how often it was sent, 1 or more
	Replayed  bool   // the answer is that of an earlier call with the same idempotency key
}

// CallOption changes one call.
type CallOption func(*callOptions)

type callOptions struct {
	meta *Meta
	key  string
	raw  *json.RawMessage
}

// WithMeta fills m when the call returns, also when it was refused. Several calls at once need one each.
func WithMeta(m *Meta) CallOption { return func(o *callOptions) { o.meta = m } }

// WithRaw fills answer with the service's own JSON when the call succeeds.
func WithRaw(answer *json.RawMessage) CallOption { return func(o *callOptions) { o.raw = answer } }

// WithIdempotencyKey gives a call that changes something a key of your own, 1 to 255 printable ASCII characters, in place of
// the one that the client makes for each call: the service does it once and gives every repeat within 24 hours the same
// answer. With a key that outlives the program, such as the id of a job, a program that starts again repeats nothing. Take a
// new key for each new call. Reads do not need one; CreateWorkspace, CreateTrialWorkspace and DeleteWorkspace take none.
func WithIdempotencyKey(key string) CallOption { return func(o *callOptions) { o.key = key } }

// request is one call as the generated methods describe it.
type request struct {
	name      string
	method    string
	path      string // from /v1 on, escaped
	workspace bool   // whether path starts below the workspace's address
	read      bool   // doing it twice changes nothing more, so it may be repeated
	takesKey  bool   // may be repeated with an idempotency key
	input     []argument
	header    map[string]string
}

// argument is a named input; one whose value is nil is not sent.
type argument struct {
	name  string
	value any
}

// given makes an argument's value of an optional input.
func given[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// unlessZero makes an argument's value of an input whose zero value stands for its default.
func unlessZero[T comparable](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// ifSet makes the value of a header that is either absent or *.
func ifSet(set bool) string {
	if set {
		return "*"
	}
	return ""
}

// list is the answer of an operation that answers a list.
type list[T any] struct {
	Result []T `json:"result"`
}

// callList makes a call that answers a list.
func callList[T any](ctx context.Context, c *Client, r request, options []CallOption) ([]T, error) {
	answer, err := call[list[T]](ctx, c, r, options)
	return answer.Result, err
}

// call makes a call, repeats it where that is safe, and reads its answer.
func call[Out any](ctx context.Context, c *Client, r request, options []CallOption) (Out, error) {
	var out Out
	var o callOptions
	for _, option := range options {
		option(&o)
	}
	c.makeRepeatable(&r, o.key)
	answer, meta, err := c.exchange(ctx, r)
	if o.meta != nil {
		*o.meta = meta
	}
	c.observed(meta, err)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return out, fmt.Errorf("client: the answer of %s %s: %w", r.method, r.path, err)
	}
	if o.raw != nil {
		*o.raw = bytes.TrimSpace(answer)
	}
	return out, nil
}

func (c *Client) observed(meta Meta, err error) {
	if c.observe != nil {
		c.observe(meta, err)
	}
}

// makeRepeatable gives a change an idempotency key: its caller's, or else one of our own if it may be repeated at all.
func (c *Client) makeRepeatable(r *request, key string) {
	if key == "" && c.ownKeys && c.retries > 0 {
		key = "go-" + rand.Text()
	}
	if !r.takesKey || key == "" {
		return
	}
	headers := map[string]string{"Idempotency-Key": key}
	maps.Copy(headers, r.header)
	r.header, r.read = headers, true
}

// exchange makes a call and gives the answer as it came.
func (c *Client) exchange(ctx context.Context, r request) ([]byte, Meta, error) {
	body, target, err := c.prepare(r)
	if err != nil {
		return nil, Meta{Operation: r.name}, err
	}
	answer, meta, err := c.sendUntilSettled(ctx, r, target, body)
	meta.Operation = r.name
	return answer, meta, err
}

// prepare writes the address and the body, which is nil for a call that has none.
func (c *Client) prepare(r request) (body []byte, target string, err error) {
	if c.fault != nil {
		return nil, "", c.fault
	}
	target = c.base + r.path
	if r.workspace {
		if c.workspace == "" {
			return nil, "", ErrNoWorkspace
		}
		target = c.base + "/v1/workspaces/" + escapeSegment(c.workspace) + r.path
	}
	for _, a := range r.input {
		if s, ok := a.value.(string); ok && !utf8.ValidString(s) {
			// Encoding would replace the bad bytes in silence and change what is meant.
			return nil, "", fmt.Errorf("client: %s is not valid UTF-8", a.name)
		}
	}
	if r.method == http.MethodGet || r.method == http.MethodDelete {
		return nil, target + queryOf(r.input), nil
	}
	body, err = bodyOf(r.input)
	return body, target, err
}

func bodyOf(input []argument) ([]byte, error) {
	object := map[string]any{}
	for _, a := range input {
		if t, ok := a.value.(time.Time); ok {
			object[a.name] = t.UTC().Format(timeLayout)
		} else if a.value != nil {
			object[a.name] = a.value
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // a file of < would be six times its size
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("client: body: %w", err)
	}
	return b.Bytes(), nil
}

func queryOf(input []argument) string {
	values := url.Values{}
	for _, a := range input {
		switch v := a.value.(type) {
		case nil:
		case time.Time:
			values.Set(a.name, v.UTC().Format(timeLayout))
		default:
			values.Set(a.name, fmt.Sprint(v))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// newRequest writes one attempt of a call.
func (c *Client) newRequest(ctx context.Context, r request, target string, body []byte) (*http.Request, error) {
	var reader io.Reader = http.NoBody
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("User-Agent", "aanet-go")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for name, value := range r.header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// send makes one attempt. The answer's bytes are those of a success; everything else is an error.
func (c *Client) send(ctx context.Context, r request, target string, body []byte) ([]byte, Meta, error) {
	req, err := c.newRequest(ctx, r, target, body)
	if err != nil {
		return nil, Meta{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, Meta{}, fmt.Errorf("%w: %w", ErrNotReached, err)
	}
	defer resp.Body.Close()
	meta := metaOf(resp)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerBytesMax+1))
	switch {
	case err != nil:
		return nil, meta, fmt.Errorf("%w: %s %s was cut off: %w", ErrNotReached, r.method, r.path, err)
	case len(answer) > answerBytesMax:
		return nil, meta, errors.New("client: the answer has over 32 MiB")
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		if offer := offerOf(resp, answer); offer != nil {
			return nil, meta, offer
		}
		return nil, meta, errorOf(resp, answer)
	}
	return answer, meta, nil
}

func metaOf(resp *http.Response) Meta {
	m := Meta{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	m.Replayed = resp.Header.Get("Idempotent-Replayed") == "true"
	m.Cost, _ = strconv.ParseInt(resp.Header.Get("X-AANet-Cost"), 10, 64) // absent: 0
	if n, err := strconv.ParseInt(resp.Header.Get("X-AANet-Remaining-Balance"), 10, 64); err == nil {
		m.Remaining = &n
	}
	return m
}
