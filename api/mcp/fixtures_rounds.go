//go:build conformance

package mcp

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// rounds are fixtures that ask the client by their result; the client calls again with the answers, so no session is
// needed. None of our own tools asks anything.
var rounds = map[string]fixture{
	"elicitation": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if name := elicited(req.Params.InputResponses, "user_name")["name"]; name != nil && name != "" {
			return text("Hello!")(ctx, req)
		}
		return ask("", "user_name", form("What is your name?", "name", "string"))
	},
	"sampling": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if sampled(req, "capital_question") {
			return text("sampled")(ctx, req)
		}
		return ask("", "capital_question", question("What is the capital of France?"))
	},
	"list_roots": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if rooted(req) {
			return text("listed")(ctx, req)
		}
		return ask("", "client_roots", &sdk.ListRootsParams{})
	},
	"request_state":  confirming,
	"tampered_state": confirming,
	"multiple_inputs": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if elicited(req.Params.InputResponses, "user_name") != nil && sampled(req, "greeting") && rooted(req) {
			return text("all three")(ctx, req)
		}
		return asking("multiple", sdk.InputRequestMap{
			"user_name": form("What is your name?", "name", "string"), "greeting": question("Greet."), "client_roots": &sdk.ListRootsParams{},
		}), nil
	},
	"multi_round": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		switch req.Params.RequestState {
		case "":
			return ask("one", "step1", form("What is your name?", "name", "string"))
		case "one":
			return ask("two", "step2", form("What is your favorite color?", "color", "string"))
		}
		return text("two rounds")(ctx, req)
	},
	"capabilities": func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		asked := sdk.InputRequestMap{}
		if can := req.ClientCapabilities(); can != nil {
			if can.Elicitation != nil {
				asked["user_name"] = form("What is your name?", "name", "string")
			}
			if can.Sampling != nil {
				asked["greeting"] = question("Greet.")
			}
		}
		if len(asked) == 0 || len(req.Params.InputResponses) > 0 {
			return text("nothing to ask")(ctx, req)
		}
		return asking("", asked), nil
	},
}

// confirming gives the client a state to bring back, and refuses one that was altered.
func confirming(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	const state = "signed"
	if req.Params.RequestState != "" && req.Params.RequestState != state {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid requestState"}
	}
	if req.Params.RequestState != "" && elicited(req.Params.InputResponses, "confirm") != nil {
		return text("state-ok")(ctx, req)
	}
	return ask(state, "confirm", form("Please confirm", "ok", "boolean"))
}

func ask(state, name string, what sdk.InputRequest) (*sdk.CallToolResult, error) {
	return asking(state, sdk.InputRequestMap{name: what}), nil
}

func asking(state string, what sdk.InputRequestMap) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: what, RequestState: state}
}

func form(message, field, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

func question(text string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}
}

// elicited is what a person filled in; nil when nobody did.
func elicited(responses sdk.InputResponseMap, name string) map[string]any {
	if result, ok := responses[name].(*sdk.ElicitResult); ok && result.Action == "accept" {
		return result.Content
	}
	return nil
}

func sampled(req *sdk.CallToolRequest, name string) bool {
	result, ok := req.Params.InputResponses[name].(*sdk.CreateMessageWithToolsResult)
	return ok && len(result.Content) > 0
}

func rooted(req *sdk.CallToolRequest) bool {
	_, ok := req.Params.InputResponses["client_roots"].(*sdk.ListRootsResult)
	return ok
}

func addFixtureResources(server *sdk.Server) {
	read := func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := req.Params.URI
		content := &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is the content of the static text resource."}
		switch {
		case uri == "test://static-binary":
			content = &sdk.ResourceContents{URI: uri, MIMEType: "image/png", Blob: decoded(pixel)}
		case strings.HasPrefix(uri, "test://template/"):
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			content = &sdk.ResourceContents{URI: uri, MIMEType: "application/json", Text: `{"id":"` + id + `","templateTest":true,"data":"Data for ID: ` + id + `"}`}
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
	}
	server.AddResource(&sdk.Resource{Name: "static-text", MIMEType: "text/plain", URI: "test://static-text"}, read)
	server.AddResource(&sdk.Resource{Name: "static-binary", MIMEType: "image/png", URI: "test://static-binary"}, read)
	server.AddResource(&sdk.Resource{Name: "watched-resource", MIMEType: "text/plain", URI: "test://watched-resource"}, read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", MIMEType: "application/json", URITemplate: "test://template/{id}/data"}, read)
}

// saying is a prompt with these contents, made from its arguments.
func saying(content ...func(map[string]string) sdk.Content) sdk.PromptHandler {
	return func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		result := &sdk.GetPromptResult{}
		for _, c := range content {
			result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: c(req.Params.Arguments)})
		}
		return result, nil
	}
}

func addFixturePrompts(server *sdk.Server) {
	line := func(map[string]string) sdk.Content {
		return &sdk.TextContent{Text: "This is a simple prompt for testing."}
	}
	server.AddPrompt(&sdk.Prompt{Name: "test_simple_prompt", Description: "A fixture."}, saying(line))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_image", Description: "A fixture."}, saying(func(map[string]string) sdk.Content { return picture() }, line))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_arguments", Description: "A fixture.", Arguments: []*sdk.PromptArgument{
		{Name: "arg1", Description: "The first.", Required: true}, {Name: "arg2", Description: "The second.", Required: true},
	}}, saying(func(a map[string]string) sdk.Content {
		return &sdk.TextContent{Text: "Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'"}
	}))
	server.AddPrompt(&sdk.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A fixture.", Arguments: []*sdk.PromptArgument{
		{Name: "resourceUri", Description: "What to embed.", Required: true},
	}}, saying(func(a map[string]string) sdk.Content { return embedded(a["resourceUri"]) }, line))
	server.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "A fixture."}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if elicited(req.Params.InputResponses, "user_context") != nil {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: line(nil)}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("What is it about?", "context", "string")}}, nil
	})
}
