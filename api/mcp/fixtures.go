//go:build conformance

package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api"
)

// fixture is one of the tools, known by name, that the official conformance suite calls. What they answer is told by the
// suite; everything before and after them is the door as it is.
type fixture func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error)

const listens = true

// streamed tells of the one fixture that logs unasked, too.
func (e *envelope) streamed() bool {
	return e.method == "tools/call" && (e.progress || bytes.Contains(e.message, []byte("test_tool_with_logging")))
}

// newServer is the server of the service with the fixtures of the conformance suite.
func (d *door) newServer() *sdk.Server {
	options := d.serverOptions()
	options.Capabilities.Logging, options.Capabilities.Tools.ListChanged = &sdk.LoggingCapabilities{}, true
	options.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
		return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
	}
	options.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
	options.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
	server := d.serverOf(options)
	for name, f := range fixtures {
		d.addFixture(server, &sdk.Tool{Name: name, Description: "A fixture.", InputSchema: anyObject}, f)
	}
	for name, f := range rounds {
		d.addFixture(server, &sdk.Tool{Name: "test_input_required_result_" + name, Description: "Asks back.", InputSchema: anyObject}, f)
	}
	d.addFixture(server, &sdk.Tool{Name: "json_schema_2020_12_tool", Description: "Has a rich schema.", InputSchema: json.RawMessage(richSchema)}, text("called"))
	for tool, change := range map[string]func(){
		"test_trigger_tool_change": func() {
			server.AddTool(&sdk.Tool{Name: "transient", InputSchema: anyObject}, sdk.ToolHandler(text("")))
		},
		"test_trigger_prompt_change": func() { server.AddPrompt(&sdk.Prompt{Name: "transient", Description: "Nothing."}, saying()) },
	} {
		d.addFixture(server, &sdk.Tool{Name: tool, Description: "Changes a list.", InputSchema: anyObject},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				change()
				return text("changed")(ctx, req)
			})
	}
	addFixtureResources(server)
	addFixturePrompts(server)
	return server
}

func (d *door) addFixture(server *sdk.Server, tool *sdk.Tool, f fixture) {
	server.AddTool(tool, sdk.ToolHandler(f))
	for _, who := range []api.Who{api.Anyone, api.AnyKey, api.Owner} {
		d.lists[who] = append(d.lists[who], tool)
	}
}

var fixtures = map[string]fixture{
	"test_simple_text":       text("This is a simple text response for testing."),
	"test_image_content":     contents(picture()),
	"test_audio_content":     contents(&sdk.AudioContent{Data: decoded(sound), MIMEType: "audio/wav"}),
	"test_embedded_resource": contents(embedded("test://embedded-resource")),
	"test_multiple_content_types": contents(
		&sdk.TextContent{Text: "Multiple content types test:"}, picture(), embedded("test://mixed-content-resource")),
	"test_error_handling": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "This tool intentionally returns an error for testing"}}}, nil
	},
	"test_tool_with_progress":    progressing,
	"test_tool_with_logging":     logging,
	"test_logging_tool":          logging,
	"test_missing_capability":    needsSampling,
	"test_streaming_elicitation": text("nothing but a result"),

	// These ask the client during the call, which a server without sessions cannot.
	"test_sampling":                     sampling,
	"test_elicitation":                  eliciting,
	"test_elicitation_sep1034_defaults": eliciting,
	"test_elicitation_sep1330_enums":    eliciting,
}

// Minimal files: a picture of one pixel and a sound of no length.
const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	sound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

func decoded(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

func picture() sdk.Content { return &sdk.ImageContent{Data: decoded(pixel), MIMEType: "image/png"} }

func embedded(uri string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is an embedded resource content."}}
}

func contents(c ...sdk.Content) fixture {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: c}, nil
	}
}

func text(s string) fixture { return contents(&sdk.TextContent{Text: s}) }

func progressing(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for _, progress := range []float64{0, 50, 100} {
		err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: 100})
		if err != nil {
			return nil, fmt.Errorf("progress: %w", err)
		}
	}
	return text(fmt.Sprint(token))(ctx, req)
}

// logging tries to log: who did not ask for the log hears nothing of it.
func logging(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
	}
	return text("logged")(ctx, req)
}

// needsSampling refuses a client that cannot sample in the protocol's own words.
func needsSampling(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	if can := req.ClientCapabilities(); can != nil && can.Sampling != nil {
		return text("can sample")(ctx, req)
	}
	data, err := json.Marshal(sdk.MissingRequiredClientCapabilityData{RequiredCapabilities: &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
}

func sampling(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	_, err := req.Session.CreateMessage(ctx, question("Say something."))
	return nil, err
}

func eliciting(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	_, err := req.Session.Elicit(ctx, form("What is your name?", "name", "string"))
	return nil, err
}

const richSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]},
	"additionalProperties": false
}`
