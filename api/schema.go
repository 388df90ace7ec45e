package api

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// exactIntegerMax is 2^53-1, beyond which JSON numbers are not exact everywhere. It bounds integers without being
// listed as their maximum.
const exactIntegerMax = 1<<53 - 1

// Properties are the named schemas of an object, in the order in which people and models should read them.
type Properties []Property

// Property is one named schema.
type Property struct {
	Name   string
	Schema map[string]any
}

// MarshalJSON gives a JSON object that keeps the order.
func (p Properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		schema, err := json.Marshal(property.Schema)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", property.Name, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", property.Name, schema)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema is the field as JSON Schema, with its description.
func (f *Field) Schema() map[string]any {
	schema := map[string]any{}
	switch f.Kind {
	case KindString:
		schema["type"] = "string"
		if f.MaxLen > 0 {
			schema["maxLength"] = f.MaxLen
		}
	case KindInteger:
		schema["type"] = "integer"
		f.addBounds(schema)
	case KindBoolean:
		schema["type"] = "boolean"
	case KindStrings:
		schema["type"], schema["items"] = "array", map[string]any{"type": "string"}
	}
	switch {
	case f.Nullable:
		schema = map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}, "default": nil}
	case f.Default != "":
		schema["default"] = json.RawMessage(f.Default)
	}
	if f.Doc != "" {
		schema["description"] = f.Doc
	}
	return schema
}

// addBounds writes a lower bound of 1 as "more than 0", as the published schemas do.
func (f *Field) addBounds(schema map[string]any) {
	switch {
	case f.Min == nil:
	case *f.Min == 1:
		schema["exclusiveMinimum"] = 0
	default:
		schema["minimum"] = *f.Min
	}
	if f.Max != nil && *f.Max != exactIntegerMax {
		schema["maximum"] = *f.Max
	}
}

// InputSchema is the JSON Schema of the operation's input. Hidden fields are left out.
func (o *Op) InputSchema() map[string]any { return inputSchema(o.In.Fields) }

// ToolSchema is InputSchema for the list of tools, which every model reads whole and is kept short for it, led by the
// fields that the door adds.
func (o *Op) ToolSchema(first ...Field) map[string]any {
	fields := append(first, o.In.Fields...)
	for i := range fields {
		f := &fields[i]
		f.Nullable = f.Nullable && !f.Unlisted
		if f.Known {
			f.Doc = ""
		}
	}
	return inputSchema(fields)
}

func inputSchema(fields []Field) map[string]any {
	properties := Properties{}
	var required []string
	for _, f := range fields {
		if f.Hidden {
			continue
		}
		properties = append(properties, Property{f.Name, f.Schema()})
		if f.Required {
			required = append(required, f.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

// OutputSchema is the JSON Schema of the output of an operation that answers a list; nil for all others.
func (o *Op) OutputSchema() map[string]any {
	if !o.IsList {
		return nil
	}
	item := map[string]any{"type": "object", "additionalProperties": true}
	return map[string]any{
		"type":       "object",
		"properties": map[string]any{"result": map[string]any{"type": "array", "items": item}},
		"required":   []string{"result"},
	}
}
