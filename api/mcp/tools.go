package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"aanet/api"
)

var anyObject = json.RawMessage(`{"type":"object"}`)

// The arguments that this door adds to an operation's own.
const (
	argKey       = "api_key"
	argWorkspace = "workspace_id"
)

// toolLists makes what each kind of caller sees. A stranger must name key and workspace in each call; a connection
// with a key in its header need not, so that the key never passes through a model.
func toolLists() map[api.Who][]*sdk.Tool {
	lists := map[api.Who][]*sdk.Tool{}
	for _, op := range api.Tools() {
		stranger, known := toolOf(op, true), toolOf(op, false)
		lists[api.Anyone] = append(lists[api.Anyone], stranger)
		lists[api.Owner] = append(lists[api.Owner], known)
		if op.Who != api.Owner {
			lists[api.AnyKey] = append(lists[api.AnyKey], known)
		}
	}
	return lists
}

// toolOf describes one operation; the schemas are bytes, made once.
func toolOf(op *api.Op, withKey bool) *sdk.Tool {
	tool := &sdk.Tool{
		Name: op.Tool(), Title: strings.TrimSuffix(op.Summary, "."), Description: op.Doc,
		InputSchema: schemaBytes(op.ToolSchema(addedFields(op, withKey)...)),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint: op.ReadOnly, IdempotentHint: op.Idempotent,
			DestructiveHint: new(op.Destructive), OpenWorldHint: new(op.OpenWorld),
		},
	}
	if schema := op.OutputSchema(); schema != nil {
		tool.OutputSchema = schemaBytes(schema)
	}
	return tool
}

func addedFields(op *api.Op, required bool) []api.Field {
	if op.Who == api.Anyone {
		return nil
	}
	key := api.Field{Name: argKey, Required: required, Doc: "Your key."}
	workspace := api.Field{Name: argWorkspace, Required: required, Doc: "Its id."}
	if !required { // the instructions tell why
		key.Doc, workspace.Doc = "Leave out.", ""
	}
	if !op.InWorkspace() {
		return []api.Field{key}
	}
	return []api.Field{key, workspace}
}

func schemaBytes(schema map[string]any) json.RawMessage {
	b, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("a schema does not encode: %v", err)) // built once at start, so every test would find it
	}
	return b
}

// Reference is the list of tools as a stranger sees it, for the documentation: indented JSON.
func Reference() ([]byte, error) {
	b, err := json.MarshalIndent(map[string]any{"tools": toolLists()[api.Anyone]}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("list of tools: %w", err)
	}
	return append(b, '\n'), nil
}
