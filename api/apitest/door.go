// Package apitest plays stories against the service: a fresh database, a workspace for each story, and
// one line for each step. The doors play the same stories through their own Door.
package apitest

import (
	"bytes"
	"encoding/json"
	"testing"

	"aanet/api"
)

// Args are the arguments of one call. A json.RawMessage stands in the body as it is, so that a story can
// send what no encoder would write.
type Args = map[string]any

// Reply is what a caller sees of an answer, whatever door it came through.
type Reply struct {
	Status    int    // as over REST; 0 when the door has no status and the answer does not tell
	Code      string // of the refusal; empty for a success
	Body      map[string]any
	Cost      int64  // units charged
	Remaining *int64 // units the key can still spend; nil when the answer does not tell
	Replayed  bool   // it is the answer of an earlier call
}

// Door makes one call as a client would. tool is the operation's name without aanet_; an empty workspace
// names none. It may be used by several goroutines: a failure to call is t.Error and an empty Reply.
type Door interface {
	Call(t testing.TB, tool, key, workspace string, args Args) Reply
}

// DoorMaker makes the door of a service. What it opens is closed by t.Cleanup.
type DoorMaker func(t testing.TB, s *api.Service) Door

// Direct is the door that is none: it hands the call to the service as a door would.
func Direct(_ testing.TB, s *api.Service) Door { return direct{s} }

type direct struct{ service *api.Service }

func (d direct) Call(t testing.TB, tool, key, workspace string, args Args) Reply {
	t.Helper()
	op := Operation(t, tool)
	if op == nil {
		return Reply{}
	}
	r := api.Request{Credential: key, ID: "story"}
	if workspace != "" {
		r.Workspace = &workspace
	}
	sent := Args{}
	for name, value := range args {
		if _, ok := value.(api.FromHeader); !ok {
			sent[name] = value
		}
	}
	body, err := json.Marshal(sent)
	if err != nil {
		t.Errorf("arguments of %s: %v", tool, err)
		return Reply{}
	}
	r.Bytes = len(body)
	if r.Input, r.Fault = api.DecodeBody(body); r.Fault == nil {
		for name, value := range args {
			if header, ok := value.(api.FromHeader); ok {
				r.Input[name] = header
			}
		}
	}
	answer := d.service.Call(t.Context(), op, r)
	reply := Reply{Status: answer.Status, Cost: answer.Cost, Remaining: answer.Remaining, Replayed: answer.Meta["aanet/replayed"] == any(true)}
	var shown any = answer.Out
	if answer.Refusal != nil {
		reply.Code, shown = string(answer.Refusal.Code), answer.Refusal
	}
	reply.Body = bodyOf(t, shown)
	return reply
}

// Operation finds an operation by its name; an unknown one is t.Error and nil.
func Operation(t testing.TB, name string) *api.Op {
	t.Helper()
	o := api.OperationNamed(name)
	if o == nil {
		t.Errorf("there is no operation %q", name)
	}
	return o
}

// bodyOf is what a client decodes.
func bodyOf(t testing.TB, shown any) map[string]any {
	t.Helper()
	text, err := json.Marshal(shown)
	if err != nil {
		t.Errorf("the answer cannot be encoded: %v", err)
		return nil
	}
	body, err := Decode(text)
	if err != nil {
		t.Errorf("the answer %s: %v", text, err)
	}
	return body
}

// Decode reads a JSON object and keeps its numbers as they are written.
func Decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var body map[string]any
	err := decoder.Decode(&body)
	return body, err
}

// Text is a string of the answer; "" when it is null or absent.
func (r Reply) Text(field string) string {
	s, _ := r.Body[field].(string)
	return s
}

// Int is an integer of the answer; -1 when it is null, absent or no plain integer.
func (r Reply) Int(field string) int64 { return Int(r.Body[field]) }

// Int reads a decoded integer; -1 for everything else.
func Int(value any) int64 {
	n, ok := value.(json.Number)
	if !ok {
		return -1
	}
	i, err := n.Int64()
	if err != nil {
		return -1
	}
	return i
}

// Texts is a list of strings of the answer; nil when it is null or absent.
func (r Reply) Texts(field string) []string {
	list, ok := r.Body[field].([]any)
	if !ok {
		return nil
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i], _ = item.(string)
	}
	return texts
}

// Rows are the objects of an answer that is a list; nil when there is none.
func (r Reply) Rows() []map[string]any {
	list, ok := r.Body["result"].([]any)
	if !ok {
		return nil
	}
	rows := make([]map[string]any, len(list))
	for i, item := range list {
		rows[i], _ = item.(map[string]any)
	}
	return rows
}
