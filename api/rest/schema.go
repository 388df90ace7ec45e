package rest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"aanet/api"
)

// nullableLists are the lists in outputs that can be null; all others are [] when they are empty.
var nullableLists = []string{"ReadFileOut.entries"}

// schemas makes JSON Schemas of output types; structs are named and kept once.
type schemas map[string]any

func (s schemas) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[api.Time]():
		return map[string]any{"$ref": timestampReference}
	case t.Kind() == reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case t.Kind() == reflect.Struct:
		return s.object(t)
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	}
	return map[string]any{"type": scalar(t)}
}

// scalar gives the JSON type of a basic kind. It panics on one that no output has, so that a test finds it.
func scalar(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	}
	panic(fmt.Sprintf("no JSON Schema for %s", t))
}

// orNull allows null beside what a schema allows.
func orNull(schema map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

// object gives a reference to a named struct, or the schema itself of an unnamed one (a list).
func (s schemas) object(t reflect.Type) map[string]any {
	name := t.Name()
	reference := map[string]any{"$ref": "#/components/schemas/" + name}
	if _, known := s[name]; known {
		return reference
	}
	properties := api.Properties{}
	var required []string
	for _, f := range fieldsOf(t) {
		schema := s.of(f.Type)
		if slices.Contains(nullableLists, name+"."+jsonName(f)) {
			schema = orNull(schema)
		}
		properties = append(properties, api.Property{Name: jsonName(f), Schema: schema})
		required = append(required, jsonName(f))
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	if strings.Contains(name, "[") {
		return schema
	}
	s[name] = schema
	return reference
}

// fieldsOf are the fields of a struct that JSON shows.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			fields = append(fields, f)
		}
	}
	return fields
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// outputNames are the fields of an operation's answer; those of a list are of its items.
func outputNames(op *api.Op) (names []string) {
	t := op.Out
	if op.IsList {
		t = t.Field(0).Type.Elem()
	}
	for _, f := range fieldsOf(t) {
		if op.IsList {
			names = append(names, "result[]."+jsonName(f))
		} else {
			names = append(names, jsonName(f))
		}
	}
	return names
}
