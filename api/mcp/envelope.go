package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Codes of JSON-RPC errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
)

// rpcFault is why a message was not taken at all.
type rpcFault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// envelope is one JSON-RPC message. The arguments of a tool call are taken out of it as they were sent: the SDK's
// decoder keeps the last of two equal names and repairs broken text, and reads a large message many times over.
type envelope struct {
	id        json.RawMessage // nil when there is none
	method    string
	answers   bool   // it is a response
	progress  bool   // of tools/call: the client wants to hear of progress
	arguments []byte // of tools/call; nil when there are none
	message   []byte // the whole, with {} for the arguments
}

// readEnvelope splits a message. Outside the arguments it must be strict JSON; inside them only the syntax counts
// here, as their other faults are a matter of the tool's answer.
func readEnvelope(body []byte) (*envelope, *rpcFault) {
	r := envelopeReader{tokens: jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))}
	switch r.tokens.PeekKind() {
	case '[':
		return nil, &rpcFault{codeInvalidRequest, "Invalid Request: send one message per request, not a batch."}
	case '{':
	default:
		return nil, &rpcFault{codeParse, "Parse error: the body must be one JSON object."}
	}
	e := &envelope{message: body}
	if err := r.message(e); err != nil {
		return nil, parseFault(err)
	}
	if e.method == "tools/call" && r.end > 0 {
		e.arguments = body[r.start:r.end]
		e.message = append(append(append(make([]byte, 0, len(body)-len(e.arguments)+2), body[:r.start]...), "{}"...), body[r.end:]...)
	}
	if err := checkStrict(e.message); err != nil {
		return e, &rpcFault{codeParse, "Parse error: " + strictRule}
	}
	return e, e.fault()
}

const idMax = 1<<53 - 1

// fault is what the SDK would take without a word: a message that asks nothing, which it leaves without an answer,
// and an id that it would give back rounded, so that the client waits for its answer in vain.
func (e *envelope) fault() *rpcFault {
	if e.method == "" && !e.answers {
		return &rpcFault{codeInvalidRequest, "Invalid Request: the message has no method."}
	}
	if jsontext.Value(e.id).Kind() != '0' {
		return nil
	}
	id, err := strconv.ParseFloat(string(e.id), 64)
	if err != nil || id != math.Trunc(id) || math.Abs(id) > idMax {
		return &rpcFault{codeInvalidRequest, "Invalid Request: an id is a string or an integer of at most 2^53-1."}
	}
	return nil
}

const strictRule = "the message must be UTF-8 and may not name a field twice or hold half of a surrogate pair."

func checkStrict(message []byte) error {
	_, err := jsontext.NewDecoder(bytes.NewReader(message)).ReadValue()
	return err
}

// parseFault tells where the syntax broke; the tokenizer's own text would quote the message.
func parseFault(err error) *rpcFault {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		return &rpcFault{codeParse, fmt.Sprintf("Parse error: the body is not valid JSON (byte %d).", syntactic.ByteOffset)}
	}
	return &rpcFault{codeParse, "Parse error: the body is not one JSON object."}
}

// envelopeReader walks over one message and remembers where the arguments stand.
type envelopeReader struct {
	tokens     *jsontext.Decoder
	start, end int64 // of the arguments
}

func (r *envelopeReader) message(e *envelope) error {
	err := r.object(func(name string) error {
		switch name {
		case "params":
			return r.params(e)
		case "id":
			value, err := r.tokens.ReadValue()
			e.id = bytes.Clone(value)
			return err
		case "method":
			value, err := r.tokens.ReadValue()
			if err == nil && value.Kind() == '"' {
				method, _ := jsontext.AppendUnquote(nil, value) // broken text is found by checkStrict
				e.method = string(method)
			}
			return err
		case "result", "error":
			e.answers = true
		}
		return r.tokens.SkipValue()
	})
	if err != nil {
		return err
	}
	if _, err := r.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("the body goes on after the message")
	}
	return nil
}

func (r *envelopeReader) params(e *envelope) error {
	return r.ifObject(func(name string) error {
		switch {
		case name == "_meta":
			return r.ifObject(func(name string) error {
				e.progress = e.progress || name == "progressToken"
				return r.tokens.SkipValue()
			})
		case name == "arguments" && r.end == 0: // a second one stays in, for checkStrict to find
			value, err := r.tokens.ReadValue()
			r.end = r.tokens.InputOffset()
			r.start = r.end - int64(len(value))
			return err
		}
		return r.tokens.SkipValue()
	})
}

// ifObject is object for a value that may be something else, which is skipped.
func (r *envelopeReader) ifObject(field func(name string) error) error {
	if r.tokens.PeekKind() != '{' {
		return r.tokens.SkipValue()
	}
	return r.object(field)
}

// object calls field for each name; field must read the value.
func (r *envelopeReader) object(field func(name string) error) error {
	if _, err := r.tokens.ReadToken(); err != nil {
		return err
	}
	for r.tokens.PeekKind() != '}' {
		name, err := r.tokens.ReadToken()
		if err != nil {
			return err
		}
		if err := field(name.String()); err != nil {
			return err
		}
	}
	_, err := r.tokens.ReadToken()
	return err
}
