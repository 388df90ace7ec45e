package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// jsonDepthMax counts objects and lists within each other, the outermost included.
	jsonDepthMax = 32
	// jsonValuesMax keeps 8 MiB of "1,1,1,…" from becoming hundreds of megabytes of values; no operation takes
	// a hundredth as many.
	jsonValuesMax = 100_000
)

// number is a JSON number as it was written; it never passes through a floating-point value.
type number string

// bodyFault says why a body was not read. The sentence shows nothing of the body's contents.
type bodyFault struct {
	detail string
	// overLimit marks a body refused for its depth or number of values, not for its syntax.
	overLimit bool
}

// decodeObject reads exactly one JSON object; no bytes or only white space stand for an empty one. Strictly:
// valid UTF-8 without byte order mark, no name twice in one object, no escaped half of a surrogate pair,
// nothing after the object. Values are string, bool, nil, number, []any and map[string]any.
func decodeObject(body []byte) (map[string]any, *bodyFault) {
	if len(bytes.Trim(body, " \t\r\n")) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(body) {
		return nil, &bodyFault{detail: "The input is not valid UTF-8."}
	}
	// Names are compared here, as they go into the map, so the tokenizer need not remember them as well.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	d := bodyDecoder{tokens: decoder, body: body}
	if kind := d.tokens.PeekKind(); kind == '[' || kind == '"' || kind == '0' || kind == 't' || kind == 'f' || kind == 'n' {
		return nil, &bodyFault{detail: "The input must be a JSON object."}
	}
	object, fault := d.object(1)
	if fault != nil {
		return nil, fault
	}
	if _, err := d.tokens.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &bodyFault{detail: "The input goes on after the JSON object."}
	}
	return object, nil
}

// bodyDecoder turns the tokens of one body into values.
type bodyDecoder struct {
	tokens *jsontext.Decoder
	body   []byte
	values int // read so far
}

func (d *bodyDecoder) object(depth int) (map[string]any, *bodyFault) {
	if fault := d.open(depth); fault != nil {
		return nil, fault
	}
	object := map[string]any{}
	for d.tokens.PeekKind() != '}' {
		name, fault := d.text()
		if fault != nil {
			return nil, fault
		}
		if _, twice := object[name]; twice {
			return nil, &bodyFault{detail: fmt.Sprintf("The input names the same field of an object twice (byte %d).", d.tokens.InputOffset())}
		}
		if object[name], fault = d.value(depth); fault != nil {
			return nil, fault
		}
	}
	return object, d.skipToken()
}

func (d *bodyDecoder) list(depth int) ([]any, *bodyFault) {
	if fault := d.open(depth); fault != nil {
		return nil, fault
	}
	list := []any{}
	for d.tokens.PeekKind() != ']' {
		value, fault := d.value(depth)
		if fault != nil {
			return nil, fault
		}
		list = append(list, value)
	}
	return list, d.skipToken()
}

// open reads the bracket that begins the object or list at this depth.
func (d *bodyDecoder) open(depth int) *bodyFault {
	if depth > jsonDepthMax {
		return &bodyFault{detail: fmt.Sprintf("The input is nested more than %d levels deep.", jsonDepthMax), overLimit: true}
	}
	return d.skipToken()
}

func (d *bodyDecoder) value(depth int) (any, *bodyFault) {
	if d.values++; d.values > jsonValuesMax {
		return nil, &bodyFault{detail: fmt.Sprintf("The input has more than %d values.", jsonValuesMax), overLimit: true}
	}
	switch d.tokens.PeekKind() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.list(depth + 1)
	case '"':
		return d.text()
	}
	raw, err := d.tokens.ReadValue()
	if err != nil {
		return nil, d.syntaxFault(err)
	}
	switch raw.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return raw.Kind() == 't', nil
	}
	return number(raw), nil
}

// text reads a string. The tokenizer has checked it, so one without escapes is its bytes as they stand.
func (d *bodyDecoder) text() (string, *bodyFault) {
	raw, err := d.tokens.ReadValue()
	if err != nil {
		return "", d.syntaxFault(err)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	plain, err := jsontext.AppendUnquote(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return "", d.syntaxFault(err)
	}
	return string(plain), nil
}

func (d *bodyDecoder) skipToken() *bodyFault {
	if _, err := d.tokens.ReadToken(); err != nil {
		return d.syntaxFault(err)
	}
	return nil
}

// syntaxFault tells where the JSON is broken. The tokenizer's own text quotes the body and is not shown.
func (d *bodyDecoder) syntaxFault(err error) *bodyFault {
	at := d.tokens.InputOffset()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		at = syntactic.ByteOffset
	}
	if isSurrogateEscape(d.body[min(at, int64(len(d.body))):]) {
		return &bodyFault{detail: fmt.Sprintf(`The input has a \u escape that is only half of a surrogate pair (byte %d).`, at)}
	}
	return &bodyFault{detail: fmt.Sprintf("The input is not valid JSON (byte %d).", at)}
}

func isSurrogateEscape(b []byte) bool {
	return len(b) >= 6 && (bytes.HasPrefix(b, []byte(`\ud`)) || bytes.HasPrefix(b, []byte(`\uD`))) &&
		strings.IndexByte("89abcdefABCDEF", b[3]) >= 0
}

// exactInteger reads a JSON number that is an integer, however it is written: 60, 60.0 and 6e1 are the same.
// It is false for what is no JSON number, for a fraction and beyond the range of int64, and never rounds. The
// exponent is never expanded, so 1e999999999 costs as little as 1.
func exactInteger(literal string) (int64, bool) {
	significand, negative := strings.CutPrefix(literal, "-")
	exponent := int64(0)
	if i := strings.IndexAny(significand, "eE"); i >= 0 {
		var ok bool
		if exponent, ok = parseExponent(significand[i+1:]); !ok {
			return 0, false
		}
		significand = significand[:i]
	}
	whole, part, pointed := strings.Cut(significand, ".")
	if !isDecimalDigits(whole) || len(whole) > 1 && whole[0] == '0' || pointed && !isDecimalDigits(part) {
		return 0, false
	}
	// Now the value is digits × 10^exponent; without zeros at its ends it is an integer iff exponent >= 0.
	exponent -= int64(len(part))
	digits := strings.TrimLeft(whole+part, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(trimmed))
	if trimmed == "" {
		return 0, true
	}
	const int64Digits = 19
	if exponent < 0 || int64(len(trimmed))+exponent > int64Digits {
		return 0, false
	}
	return signedInteger(trimmed, int(exponent), negative)
}

// signedInteger gives digits × 10^zeros, at most 19 digits in all, unless it is out of the range of int64.
func signedInteger(digits string, zeros int, negative bool) (int64, bool) {
	var size uint64 // 19 digits always fit
	for i := range len(digits) {
		size = size*10 + uint64(digits[i]-'0')
	}
	for range zeros {
		size *= 10
	}
	if negative {
		return -int64(size), size <= 1<<63
	}
	return int64(size), size < 1<<63
}

// parseExponent reads what follows the e of a JSON number. A huge one is cut to a size that still outweighs
// every significand that fits in memory.
func parseExponent(s string) (int64, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	if !isDecimalDigits(digits) {
		return 0, false
	}
	const huge = int64(1) << 50
	var n int64
	for i := range len(digits) {
		n = min(n*10+int64(digits[i]-'0'), huge)
	}
	if negative {
		n = -n
	}
	return n, true
}

func isDecimalDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// exactIntegerText reads an integer that came as text, in a query string or from a model: an optional minus and
// digits, also as 60.0; no exponent, plus, spaces or leading zeros.
func exactIntegerText(s string) (int64, bool) {
	if strings.ContainsAny(s, "eE") {
		return 0, false
	}
	return exactInteger(s)
}
