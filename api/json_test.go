package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeObjectKeepsValues(t *testing.T) {
	for _, c := range []struct {
		body string
		want map[string]any
	}{
		{``, map[string]any{}},
		{" \r\n\t", map[string]any{}},
		{`{}`, map[string]any{}},
		{" {\n} ", map[string]any{}},
		{`{"a":null,"b":true,"c":false,"d":"x"}`, map[string]any{"a": nil, "b": true, "c": false, "d": "x"}},
		{`{"n":60,"f":60.0,"e":6E+1,"big":9007199254740993,"m":-0}`,
			map[string]any{"n": number("60"), "f": number("60.0"), "e": number("6E+1"), "big": number("9007199254740993"), "m": number("-0")}},
		{`{"list":[],"in":[1,"a",[null],{"k":{}}]}`,
			map[string]any{"list": []any{}, "in": []any{number("1"), "a", []any{nil}, map[string]any{"k": map[string]any{}}}}},
		{`{"path":1,"Path":2,"PATH":3,"":4}`, map[string]any{"path": number("1"), "Path": number("2"), "PATH": number("3"), "": number("4")}},
		{`{"a":{"x":1},"b":{"x":1}}`, map[string]any{"a": map[string]any{"x": number("1")}, "b": map[string]any{"x": number("1")}}},
		{`{"s":"\u00e9 \ud83d\ude00 \n\t\"\\\/ \u0000 \ufffd � é 😀 <&>"}`, map[string]any{"s": "é 😀 \n\t\"\\/ \x00 \ufffd \ufffd é 😀 <&>"}},
		{`{"\u0061":"\\u0041"}`, map[string]any{"a": `\u0041`}},
	} {
		got, fault := decodeObject([]byte(c.body))
		if fault != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %#v, %v\nwant %#v", c.body, got, fault, c.want)
		}
	}
}

func TestDecodeObjectRefuses(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`null`, "must be a JSON object"},
		{`[]`, "must be a JSON object"},
		{`[{"a":1}]`, "must be a JSON object"},
		{`"{}"`, "must be a JSON object"},
		{`1`, "must be a JSON object"},
		{`true`, "must be a JSON object"},
		{`{} {}`, "goes on after"},
		{`{}{`, "goes on after"},
		{`{}x`, "goes on after"},
		{`{},`, "goes on after"},
		{"{}\x00", "goes on after"},
		{`{"a":1,"a":2}`, "twice"},
		{`{"a":1,"\u0061":2}`, "twice"},
		{`{"x":[{"a":{},"a":{}}]}`, "twice"},
		{`{"":1,"":2}`, "twice"},
		{"{\"a\":\"\xff\"}", "UTF-8"},
		{"{\"\xff\":1}", "UTF-8"},
		{"{\"a\":\"\xed\xa0\x80\"}", "UTF-8"},
		{"{\"a\":\"\xc0\x80\"}", "UTF-8"},
		{"{}\xff", "UTF-8"},
		{`{"a":"\ud800"}`, "surrogate"},
		{`{"a":"\uDFFF x"}`, "surrogate"},
		{`{"a":"\ud800\ud800"}`, "surrogate"},
		{`{"\udc00":1}`, "surrogate"},
		{`{"a":"x\ude00\ud83d"}`, "surrogate"},
		{"\ufeff{}", "not valid JSON"},
		{"\ufeff", "not valid JSON"},
		{`{`, "not valid JSON"},
		{`{"a"`, "not valid JSON"},
		{`{"a":`, "not valid JSON"},
		{`{"a":"`, "not valid JSON"},
		{`{"a":1`, "not valid JSON"},
		{`{"a":1,}`, "not valid JSON"},
		{`{"a":[1,]}`, "not valid JSON"},
		{`{"a":[1}`, "not valid JSON"},
		{`{,}`, "not valid JSON"},
		{`{a:1}`, "not valid JSON"},
		{`{'a':1}`, "not valid JSON"},
		{`{1:1}`, "not valid JSON"},
		{`{null:1}`, "not valid JSON"},
		{`{"a":NaN}`, "not valid JSON"},
		{`{"a":01}`, "not valid JSON"},
		{`{"a":+1}`, "not valid JSON"},
		{`{"a":1.}`, "not valid JSON"},
		{`{"a":.5}`, "not valid JSON"},
		{`{"a":True}`, "not valid JSON"},
		{"{\"a\":\"\n\"}", "not valid JSON"},
		{`{"a":"\x"}`, "not valid JSON"},
		{`{"a":"\u12"}`, "not valid JSON"},
		{`{"a" 1}`, "not valid JSON"},
		{`{"a":1 "b":2}`, "not valid JSON"},
		{`{/**/}`, "not valid JSON"},
		{`}`, "not valid JSON"},
		{`x`, "not valid JSON"},
		{"\u00a0", "not valid JSON"},
	} {
		got, fault := decodeObject([]byte(c.body))
		if got != nil || fault == nil || fault.overLimit || !strings.Contains(fault.detail, c.want) {
			t.Errorf("%q: %v, %+v; want a fault about %q", c.body, got, fault, c.want)
		}
	}
}

func TestDecodeObjectLimits(t *testing.T) {
	nested := func(levels int, open, closed string) string {
		return `{"a":` + strings.Repeat(open, levels-1) + "1" + strings.Repeat(closed, levels-1) + "}"
	}
	list := func(values int) string { return `{"a":[1` + strings.Repeat(",1", values-2) + "]}" }
	for name, body := range map[string]string{
		"32 lists": nested(32, "[", "]"), "32 objects": nested(32, `{"a":`, "}"), "100,000 values": list(100_000),
	} {
		if _, fault := decodeObject([]byte(body)); fault != nil {
			t.Errorf("%s: %s", name, fault.detail)
		}
	}
	for name, body := range map[string]string{
		"33 lists": nested(33, "[", "]"), "33 objects": nested(33, `{"a":`, "}"), "20,000 lists": nested(20_000, "[", "]"),
		"deep and unfinished": `{"a":` + strings.Repeat("[", 1<<20), "100,001 values": list(100_001),
	} {
		if got, fault := decodeObject([]byte(body)); got != nil || fault == nil || !fault.overLimit {
			t.Errorf("%s: got %d fields, fault %+v", name, len(got), fault)
		}
		if _, refusal := DecodeBody([]byte(body)); refusal == nil || len(refusal.Errors) != 1 || refusal.Errors[0].Field != "(input)" {
			t.Errorf("%s: the refusal %+v does not list its fault", name, refusal)
		}
	}
}

func TestFaultsNeverShowTheBody(t *testing.T) {
	for _, body := range []string{`{"hush":hush}`, `{"hush":1,"hush":2}`, `{"hush":"\ud800hush"}`, `hush`, `{}hush`, `"hush"`} {
		if _, fault := decodeObject([]byte(body)); fault == nil || strings.Contains(fault.detail, "hush") {
			t.Errorf("%s: %+v", body, fault)
		}
	}
}

// A legal file of 1 MiB can be 6.3 MiB of JSON; each of these bodies of 8 MiB, the cap, has to stay well under
// 100 ms.
func BenchmarkDecodeObject(b *testing.B) {
	const size = 8 << 20
	for _, c := range []struct{ name, before, unit, after string }{
		{"plain", `{"a":"`, "x", `"}`},
		{"newlines", `{"a":"`, `\n`, `"}`},
		{"escaped", `{"a":"`, `\u0001`, `"}`},
		{"two bytes", `{"a":"`, "é", `"}`},
		{"numbers", `{"a":[`, "1,", `1]}`},
		{"empty lists", `{"a":[`, "[],", `1]}`},
		{"one number", `{"a":`, "1", `}`},
		{"spaces", `{`, " ", `}`},
		{"open lists", `{"a":`, "[", ""},
	} {
		body := []byte(c.before + strings.Repeat(c.unit, size/len(c.unit)) + c.after)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				decodeObject(body)
			}
		})
	}
}

func TestExactInteger(t *testing.T) {
	million := strings.Repeat("0", 1_000_000)
	for literal, want := range map[string]int64{
		"0": 0, "-0": 0, "0.0": 0, "0e5": 0, "-0.000e-7": 0, "60": 60, "60.0": 60, "6e1": 60, "6E+1": 60, "600e-1": 60, "1e2": 100, "-3": -3,
		"0.06e3": 60, "1.5e1": 15, "12.50e1": 125, "9007199254740993": 1<<53 + 1, "9007199254740993.000": 1<<53 + 1,
		"9223372036854775807": 1<<63 - 1, "-9223372036854775808": -1 << 63, "9.223372036854775807e18": 1<<63 - 1, "1e18": 1e18,
		"0e999999999999999999999": 0, "7." + million: 7, "7" + million + "e-1000000": 7, "0." + million[1:] + "7e1000000": 7,
	} {
		if got, ok := exactInteger(literal); !ok || got != want {
			t.Errorf("exactInteger(%.40q) = %d, %v; want %d", literal, got, ok, want)
		}
	}
	for _, literal := range []string{
		"1.5", "0.1", "1e-1", "15e-2", "9223372036854775808", "-9223372036854775809", "1e19", "9.3e18", "99999999999999999999", "1e999999999",
		"1e-999999999", "-1e99999999999999999999999999", "1e-99999999999999999999999999", "1" + million, "1." + million + "1", million + "1",
		"", "-", "+1", "--1", "01", "-01", "00", "1.", ".5", "1e", "1e+", "1e+-1", "e1", "1e1.0", "1e1e1", "1.0.0", " 1", "1 ", "1_0", "0x1",
		"NaN", "Infinity", "true", "1\x00", "１", "1/1",
	} {
		if got, ok := exactInteger(literal); ok {
			t.Errorf("exactInteger(%.40q) = %d, want a refusal", literal, got)
		}
	}
}

func TestExactIntegerText(t *testing.T) {
	for text, want := range map[string]int64{"60": 60, "60.0": 60, "-3": -3, "0": 0, "9223372036854775807": 1<<63 - 1} {
		if got, ok := exactIntegerText(text); !ok || got != want {
			t.Errorf("exactIntegerText(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " 60", "60 ", "+60", "060", "6e1", "6E1", "1.5", "60.", "9223372036854775808", "sixty", "0x3c", "٣"} {
		if got, ok := exactIntegerText(text); ok {
			t.Errorf("exactIntegerText(%q) = %d, want a refusal", text, got)
		}
	}
}

func FuzzExactInteger(f *testing.F) {
	for _, seed := range []string{"60", "60.0", "6e1", "-3", "1.5", "9223372036854775808", "1e19", "0.06e3", "01", "-0", "600e-1"} {
		f.Add(seed)
	}
	grammar := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	manyDigits := regexp.MustCompile(`[eE][+-]?[0-9]{4}`)
	f.Fuzz(func(t *testing.T, literal string) {
		got, ok := exactInteger(literal)
		if !grammar.MatchString(literal) {
			if ok {
				t.Fatalf("%q is no JSON number, but read as %d", literal, got)
			}
			return
		}
		if len(literal) > 500 || manyDigits.MatchString(literal) {
			return // big.Rat writes every zero out
		}
		exact, _ := new(big.Rat).SetString(literal)
		if want := exact.IsInt() && exact.Num().IsInt64(); ok != want || ok && exact.Num().Int64() != got {
			t.Fatalf("exactInteger(%q) = %d, %v; it is %s", literal, got, ok, exact)
		}
	})
}

func FuzzDecodeObject(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"a":[1,2.5e3,"x",null,true,{"b":{}}]}`, `{"a":1,"a":2}`, `{"a":"\ud83d\ude00\n\u00e9"}`, `{"\ud800":1}`, `[1]`, `{"a":1} x`,
		"{\"a\":\"\xff\"}", "\ufeff{}", `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}",
	} {
		f.Add([]byte(seed))
	}
	surrogate := regexp.MustCompile(`\\u[dD][89a-fA-F]`)
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := bytes.Clone(body)
		got, fault := decodeObject(body)
		if !bytes.Equal(kept, body) {
			t.Fatalf("%q was changed to %q", kept, body)
		}
		if fault != nil {
			if strings.Contains(fault.detail, "not valid JSON") && json.Valid(body) {
				t.Fatalf("%q is valid JSON, but: %s", body, fault.detail)
			}
			if strings.Contains(fault.detail, "surrogate") && !surrogate.Match(body) {
				t.Fatalf("%q: %s", body, fault.detail)
			}
			return
		}
		if !utf8.Valid(body) {
			t.Fatalf("%q was accepted", body)
		}
		want := map[string]any{}
		if len(bytes.TrimSpace(body)) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.UseNumber()
			if err := decoder.Decode(&want); err != nil || !json.Valid(body) {
				t.Fatalf("%q was accepted; encoding/json says %v", body, err)
			}
		}
		if !reflect.DeepEqual(asStandard(got), any(want)) {
			t.Fatalf("%q\n got %#v\nwant %#v", body, got, want)
		}
	})
}

// asStandard turns numbers into the type that encoding/json gives them.
func asStandard(value any) any {
	switch v := value.(type) {
	case number:
		return json.Number(v)
	case []any:
		for i := range v {
			v[i] = asStandard(v[i])
		}
	case map[string]any:
		for name := range maps.Keys(v) {
			v[name] = asStandard(v[name])
		}
	}
	return value
}
