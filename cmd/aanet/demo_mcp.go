package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api/client"
)

// mcpDoor is the door of an MCP client. The key is a header of the connection, so no tool call carries it.
type mcpDoor struct {
	session *sdk.ClientSession
	meter   *meter
}

// bearer sends the key with every request.
type bearer struct{ key string }

// RoundTrip adds the header; a request may not be changed, so a copy goes out.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

func openMCP(ctx context.Context, url, key string, m *meter) (mcpDoor, error) {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "aanet-demo", Version: version}, nil).Connect(ctx,
		&sdk.StreamableClientTransport{
			Endpoint: url + "/mcp", HTTPClient: &http.Client{Transport: bearer{key}}, DisableStandaloneSSE: true,
		}, nil)
	if err != nil {
		return mcpDoor{}, fmt.Errorf("connect over MCP: %w", err)
	}
	return mcpDoor{session, m}, nil
}

// callTool calls a tool and reads its answer, which is the same object as over REST.
func callTool[Out any](ctx context.Context, d mcpDoor, tool string, arguments map[string]any) (Out, error) {
	var out Out
	result, err := d.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return out, fmt.Errorf("%s: %w", tool, err)
	}
	units, _ := result.Meta["aanet/cost"].(float64)
	d.meter.count(int64(units))
	if len(result.Content) != 1 {
		return out, fmt.Errorf("%s: %d contents in its answer", tool, len(result.Content))
	}
	text, ok := result.Content[0].(*sdk.TextContent)
	if !ok {
		return out, fmt.Errorf("%s: its answer is no text", tool)
	}
	if result.IsError {
		return out, refusalOfTool(tool, text.Text)
	}
	if err := json.Unmarshal([]byte(text.Text), &out); err != nil {
		return out, fmt.Errorf("%s: %w", tool, err)
	}
	return out, nil
}

// refusalOfTool reads the problem object of a refused tool call.
func refusalOfTool(tool, text string) error {
	var problem struct {
		Status int         `json:"status"`
		Code   client.Code `json:"code"`
		Detail string      `json:"detail"`
	}
	if err := json.Unmarshal([]byte(text), &problem); err != nil {
		return fmt.Errorf("%s: its refusal: %w", tool, err)
	}
	return &client.Error{Status: problem.Status, Code: problem.Code, Detail: problem.Detail}
}

func (d mcpDoor) readFile(ctx context.Context, path string, offset int64) (client.ReadFileOut, error) {
	return callTool[client.ReadFileOut](ctx, d, "aanet_read_file", map[string]any{"path": path, "offset": offset})
}

func (d mcpDoor) writeFile(ctx context.Context, path, content string, ifMatch *string) error {
	_, err := callTool[client.WriteFileOut](ctx, d, "aanet_write_file", map[string]any{"path": path, "content": content, "if_match": ifMatch})
	return err
}

func (d mcpDoor) appendFile(ctx context.Context, path, text string) error {
	_, err := callTool[client.AppendFileOut](ctx, d, "aanet_append_file", map[string]any{"path": path, "content": text})
	return err
}

func (d mcpDoor) acquireLock(ctx context.Context, name string, seconds int64) error {
	_, err := callTool[client.AcquireLockOut](ctx, d, "aanet_acquire_lock", map[string]any{"name": name, "lease_seconds": seconds})
	return err
}

func (d mcpDoor) releaseLock(ctx context.Context, name string) error {
	_, err := callTool[client.ReleaseLockOut](ctx, d, "aanet_release_lock", map[string]any{"name": name})
	return err
}

func (d mcpDoor) sendMessage(ctx context.Context, to *string, topic, body string) error {
	_, err := callTool[client.SendMessageOut](ctx, d, "aanet_send_message", map[string]any{"to_subkey_id": to, "topic": topic, "body": body})
	return err
}

func (d mcpDoor) getMessages(ctx context.Context, topic string, since *time.Time) ([]client.MessageOut, error) {
	type messages struct {
		Result []client.MessageOut `json:"result"`
	}
	out, err := callTool[messages](ctx, d, "aanet_get_messages", map[string]any{"topic": topic, "since": since})
	return out.Result, err
}

func (d mcpDoor) close() error { return d.session.Close() }
