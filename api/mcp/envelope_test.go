package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func TestEnvelope(t *testing.T) {
	for body, want := range map[string]envelope{
		`{"id":1,"method":"ping"}`: {
			id: json.RawMessage(`1`), method: "ping", message: []byte(`{"id":1,"method":"ping"}`),
		},
		`{"method":"tools/call","params":{"arguments": {"a":1} ,"name":"x"},"id":"q"}`: {
			id: json.RawMessage(`"q"`), method: "tools/call", arguments: []byte(`{"a":1}`),
			message: []byte(`{"method":"tools/call","params":{"arguments": {} ,"name":"x"},"id":"q"}`),
		},
		`{"params":{"argument\u0073":null},"method":"tools\/call"}`: {
			method: "tools/call", arguments: []byte(`null`), message: []byte(`{"params":{"argument\u0073":{}},"method":"tools\/call"}`),
		},
		`{"method":"prompts/get","params":{"arguments":{"a":1}}}`: {
			method: "prompts/get", message: []byte(`{"method":"prompts/get","params":{"arguments":{"a":1}}}`),
		},
		`{"method":"tools/call","params":{"_meta":{"progressToken":1}}}`: {
			method: "tools/call", progress: true, message: []byte(`{"method":"tools/call","params":{"_meta":{"progressToken":1}}}`),
		},
		`{"method":"tools/call","params":{"_meta":{"arguments":1}}}`: {
			method: "tools/call", message: []byte(`{"method":"tools/call","params":{"_meta":{"arguments":1}}}`),
		},
	} {
		got, fault := readEnvelope([]byte(body))
		if fault != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v %v", body, got, fault)
		}
	}
}

// FuzzEnvelope checks that taking a message apart loses nothing.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,{"b":"\ud83d\ude00"}]}}}`,
		`{"method":"tools/call","params":{"arguments":{},"arguments":{}}}`, `[{}]`, `{"params":[],"method":1}`, "{\"id\":\"\xff\"}", `{"method":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, fault := readEnvelope(bytes.Clone(body))
		if fault != nil {
			return
		}
		var whole, rest map[string]any
		if err := exactly(body, &whole); err != nil {
			t.Fatalf("taken, though it is no JSON object: %v", err)
		}
		if err := exactly(e.message, &rest); err != nil {
			t.Fatalf("what is left is no JSON object: %v", err)
		}
		if e.arguments != nil {
			var arguments any
			if err := exactly(e.arguments, &arguments); err != nil {
				t.Fatalf("the arguments are no JSON: %v", err)
			}
			rest["params"].(map[string]any)["arguments"] = arguments
		}
		if !reflect.DeepEqual(whole, rest) {
			t.Errorf("%s became %s and %s", body, e.message, e.arguments)
		}
	})
}

// exactly decodes with numbers as they are written.
func exactly(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(into)
}
