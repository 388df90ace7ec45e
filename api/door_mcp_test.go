package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"sync/atomic"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/mcp"
)

// MCP is the door of agents: each call is one JSON-RPC message on a loopback connection. The key goes in the
// header and in the arguments by turns.
func MCP(t testing.TB, s *api.Service) apitest.Door { return mcpLogging(t, s, doorLog(t)) }

func mcpLogging(t testing.TB, s *api.Service, log *slog.Logger) apitest.Door {
	return &mcpDoor{client: serveDoor(t, mcp.New(s, mcp.Options{Log: log, Version: "test"})), noTools: apitest.Direct(t, s)}
}

type mcpDoor struct {
	client  doorClient
	calls   atomic.Int64
	noTools apitest.Door // for operations that this door does not have
}

// toolAnswer is the message that answers a tool call.
type toolAnswer struct {
	Result *struct {
		Content []struct{ Type, Text string } `json:"content"`
		// Structured repeats the text of a success.
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Meta       struct {
			Cost      *int64 `json:"aanet/cost"`
			Remaining *int64 `json:"aanet/remaining_balance"`
			RequestID string `json:"aanet/request_id"`
			Replayed  bool   `json:"aanet/replayed"`
		} `json:"_meta"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// Call calls the tool. MCP has no status of a success, so that of REST is worked out.
func (d *mcpDoor) Call(t testing.TB, tool, key, workspace string, args apitest.Args) apitest.Reply {
	t.Helper()
	op := apitest.Operation(t, tool)
	if op == nil {
		return apitest.Reply{}
	}
	if op.RESTOnly {
		return d.noTools.Call(t, tool, key, workspace, args)
	}
	message, header := d.message(t, op, key, workspace, args)
	r := &http.Request{Method: http.MethodPost, URL: &d.client.url, Header: header, Body: io.NopCloser(bytes.NewReader(message)), ContentLength: int64(len(message))}
	status, _, text := d.client.do(t, r.WithContext(t.Context()))
	if status == 0 {
		return apitest.Reply{}
	}
	var answer toolAnswer
	if err := json.Unmarshal(text, &answer); err != nil || status != http.StatusOK || answer.Result == nil || len(answer.Result.Content) != 1 {
		t.Errorf("%s answers %d with %.500q, which is no result with one text (%v)", tool, status, text, err)
		return apitest.Reply{}
	}
	return answer.reply(t, op)
}

func (a toolAnswer) reply(t testing.TB, op *api.Op) apitest.Reply {
	t.Helper()
	result := a.Result
	reply := apitest.Reply{Remaining: result.Meta.Remaining, Replayed: result.Meta.Replayed}
	if result.Meta.Cost == nil || result.Meta.RequestID == "" {
		t.Errorf("%s: cost or request id are not told", op.Name)
	} else {
		reply.Cost = *result.Meta.Cost
	}
	text := result.Content[0].Text
	var err error
	if reply.Body, err = apitest.Decode([]byte(text)); err != nil {
		t.Errorf("%s answers %.300q: %v", op.Name, text, err)
	}
	if result.IsError && reply.Body["x402Version"] != nil {
		if string(result.Structured) != text {
			t.Errorf("%s offers %.300q and shows %.300q", op.Name, text, result.Structured)
		}
		reply.Status = http.StatusPaymentRequired
		return reply
	}
	if result.IsError {
		reply.Code, reply.Status = reply.Text("code"), int(reply.Int("status"))
		if reply.Code == "" || result.Structured != nil {
			t.Errorf("%s is refused with %.300q, structured %.300q", op.Name, text, result.Structured)
		}
		return reply
	}
	if structured, err := apitest.Decode(result.Structured); err != nil && (result.Structured != nil || op.IsList) || err == nil && !reflect.DeepEqual(structured, reply.Body) {
		t.Errorf("%s: the structured content %.300q is not the text %.300q", op.Name, result.Structured, text)
	}
	reply.Status = statusOf(op, reply.Body)
	return reply
}

// statusOf is the status of a success over REST, 0 when the answer does not tell.
func statusOf(op *api.Op, body map[string]any) int {
	switch {
	case op.Name == "append_file":
		return 0
	case body["created"] == any(true):
		return http.StatusCreated
	case op.Status != 0:
		return op.Status
	}
	return http.StatusOK
}

// message is the call as a client writes it.
func (d *mcpDoor) message(t testing.TB, op *api.Op, key, workspace string, args apitest.Args) ([]byte, http.Header) {
	t.Helper()
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	sent := maps.Clone(args)
	if sent == nil {
		sent = apitest.Args{}
	}
	if op.InWorkspace() && workspace != "" {
		sent["workspace_id"] = workspace
	}
	arguments := encoded(t, op, sent)
	_, unreadable := api.DecodeBody(arguments)
	switch {
	case key == "":
	case op.Who == api.Anyone || unreadable != nil || d.calls.Add(1)%2 == 0:
		header["Authorization"] = []string{"Bearer " + key}
	default:
		sent["api_key"] = key
		arguments = encoded(t, op, sent)
	}
	message := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + op.Tool() + `","arguments":`)
	return append(append(message, arguments...), "}}"...), header
}

func encoded(t testing.TB, op *api.Op, arguments apitest.Args) []byte {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Errorf("arguments of %s: %v", op.Name, err)
	}
	return text
}
