package api_test

import (
	"encoding/json"
	"testing"

	"aanet/api"
)

func TestFieldSchema(t *testing.T) {
	one, most, exact, zero := int64(1), int64(500), int64(1<<53-1), int64(0)
	for name, test := range map[string]struct {
		field api.Field
		want  string
	}{
		"a string":            {api.Field{}, `{"type":"string"}`},
		"a bounded string":    {api.Field{MaxLen: 200, Doc: "A title."}, `{"description":"A title.","maxLength":200,"type":"string"}`},
		"an optional string":  {api.Field{Nullable: true}, `{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}`},
		"a default":           {api.Field{Default: `"x"`}, `{"default":"x","type":"string"}`},
		"a bounded integer":   {api.Field{Kind: api.KindInteger, Min: &one, Max: &most, Default: "100"}, `{"default":100,"exclusiveMinimum":0,"maximum":500,"type":"integer"}`},
		"an integer from 0":   {api.Field{Kind: api.KindInteger, Min: &zero}, `{"minimum":0,"type":"integer"}`},
		"an optional integer": {api.Field{Kind: api.KindInteger, Min: &one, Max: &exact, Nullable: true}, `{"anyOf":[{"exclusiveMinimum":0,"type":"integer"},{"type":"null"}],"default":null}`},
		"a flag":              {api.Field{Kind: api.KindBoolean, Default: "false"}, `{"default":false,"type":"boolean"}`},
		"a list of strings":   {api.Field{Kind: api.KindStrings}, `{"items":{"type":"string"},"type":"array"}`},
	} {
		got, err := json.Marshal(test.field.Schema())
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s (%v), want %s", name, got, err, test.want)
		}
	}
}

func TestInputSchemaKeepsOrderAndHidesHeaders(t *testing.T) {
	for _, op := range api.Operations() {
		if op.Name != "write_file" {
			continue
		}
		got, err := json.Marshal(op.ToolSchema(api.Field{Name: "api_key", Required: true})["properties"].(api.Properties)[:2])
		const want = `{"api_key":{"type":"string"},"path":{"description":"1-1024 bytes, segments of 1-255 between \"/\".","type":"string"}}`
		if err != nil || string(got) != want {
			t.Errorf("%s (%v), want %s", got, err, want)
		}
		for _, p := range op.InputSchema()["properties"].(api.Properties) {
			if p.Name == "if_none_match" {
				t.Error("an input that only REST has is listed")
			}
		}
		return
	}
	t.Fatal("no write_file")
}
