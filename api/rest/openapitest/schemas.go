package openapitest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// schema makes a schema of the document ready to validate with. Objects are closed in it: a field that the document
// does not name is a fault here, although a client must not mind one.
func (d *document) schema(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	defs := map[string]any{}
	if err := d.collect(defs, root); err != nil {
		return nil, err
	}
	_, composed := root["allOf"]
	root, _ = closed(root, !composed).(map[string]any)
	if composed {
		root["unevaluatedProperties"] = false
	}
	root["$defs"] = defs
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return resolved, nil
}

// collect puts what a schema refers to into defs, and what that refers to.
func (d *document) collect(defs map[string]any, schema any) error {
	switch s := schema.(type) {
	case map[string]any:
		reference, _ := s["$ref"].(string)
		if name, named := strings.CutPrefix(reference, "#/components/schemas/"); named && defs[name] == nil {
			there, known := d.Components.Schemas[name]
			if !known {
				return fmt.Errorf("schema: no %s", reference)
			}
			defs[name] = closed(there, name != "Problem")
			if err := d.collect(defs, there); err != nil {
				return err
			}
		}
		for _, value := range s {
			if err := d.collect(defs, value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range s {
			if err := d.collect(defs, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// closed is a copy of a schema in which objects have only the properties that are named, this one if close says so.
func closed(schema any, closing bool) any {
	switch s := schema.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range s {
			out[key] = closed(value, key != "allOf")
		}
		if _, named := s["properties"].(map[string]any); named && closing && s["type"] == "object" && s["additionalProperties"] == nil {
			out["additionalProperties"] = false
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i, value := range s {
			out[i] = closed(value, closing)
		}
		return out
	}
	return schema
}
