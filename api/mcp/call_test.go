package mcp_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"aanet/api"
)

func TestACallAnswersAndTellsWhatItCost(t *testing.T) {
	w := newWorld(t)
	o := w.call(w.subkey, "aanet_write_file", `{"path":"notes/a","content":"<b>ü</b>"}`)
	var wrote struct {
		Path    string
		Created bool
		Etag    string
	}
	o.decode(t, &wrote)
	if wrote.Path != "notes/a" || !wrote.Created || wrote.Etag == "" {
		t.Errorf("wrote %+v", wrote)
	}
	meta := o.Result.Meta
	if meta["aanet/cost"] != 10.0 || meta["aanet/remaining_balance"] != 90.0 || meta["aanet/request_id"] == "" {
		t.Errorf("meta %v", meta)
	}
	if text := o.text(t); text != string(o.Result.Structured) || strings.Contains(text, "\n") {
		t.Errorf("text %s, structured content %s", text, o.Result.Structured)
	}
	read := w.call(w.owner, "aanet_read_file", `{"path":"notes/a"}`)
	if !strings.Contains(read.text(t), `"content":"<b>ü</b>"`) {
		t.Errorf("read %s", read.text(t))
	}
	if meta := w.call("", "aanet_get_pricing", `{}`).Result.Meta; meta["aanet/cost"] != 0.0 || meta["aanet/remaining_balance"] != nil {
		t.Errorf("a stranger's meta %v", meta)
	}
}

func TestListsAreNeverNullAndAlwaysStructured(t *testing.T) {
	w := newWorld(t)
	for tool, arguments := range map[string]string{
		"aanet_get_messages": `{}`, "aanet_list_locks": `{}`, "aanet_list_subkeys": `{}`, "aanet_get_activity_summary": `{}`,
		"aanet_get_activity": `{"operation":"NOTHING"}`,
	} {
		o := w.call(w.owner, tool, arguments)
		var list struct{ Result []map[string]any }
		o.decode(t, &list)
		if list.Result == nil || o.text(t) != string(o.Result.Structured) {
			t.Errorf("%s: %s and %s", tool, o.text(t), o.Result.Structured)
		}
	}
}

func TestALargeFileIsSentOnceAndSaysHowToReadItInParts(t *testing.T) {
	w := newWorld(t)
	// Control characters are six bytes each in JSON: 72 KiB that the trial's 100 units can pay for.
	content := strings.Repeat("\x01", 12<<10)
	escaped, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	w.call(w.owner, "aanet_write_file", `{"path":"big","content":`+string(escaped)+`}`).decode(t, &struct{}{})
	var read struct{ Notice, Content string }
	big := w.call(w.owner, "aanet_read_file", `{"path":"big"}`)
	if text := big.text(t); !strings.HasPrefix(text, `{"notice":"This result has `) {
		t.Errorf("no word on how to read it in parts: %.100s", text)
	}
	if big.decode(t, &read); read.Content != content || big.Result.Structured != nil {
		t.Errorf("%d bytes back, structured content: %v", len(read.Content), big.Result.Structured != nil)
	}
	if !strings.Contains(read.Notice, "max_bytes 32768, then offset = next_offset") {
		t.Errorf("notice %q", read.Notice)
	}
	small := w.call(w.owner, "aanet_read_file", `{"path":"big","max_bytes":100}`)
	read.Notice = ""
	if small.decode(t, &read); read.Notice != "" || len(read.Content) != 100 || small.Result.Structured == nil {
		t.Errorf("%d bytes back, structured content: %v", len(read.Content), small.Result.Structured != nil)
	}
}

func TestWhoCalls(t *testing.T) {
	w := newWorld(t)
	other := newWorld(t)
	id := func(s string) string { return `,"workspace_id":` + strconv.Quote(s) }
	key := func(s string) string { return `{"path":"a","api_key":` + strconv.Quote(s) }
	const unknown = "00000000-0000-0000-0000-000000000000"
	for name, test := range map[string]struct {
		header, arguments string
		want              api.Code // "" reads the file a that does not exist
	}{
		"header":                       {w.owner, `{"path":"a"}`, ""},
		"header and workspace":         {w.owner, `{"path":"a"` + id(w.workspace) + `}`, ""},
		"header and nulls":             {w.owner, `{"path":"a","api_key":null,"workspace_id":null}`, ""},
		"argument":                     {"", key(w.subkey) + id(w.workspace) + `}`, ""},
		"argument without workspace":   {"", key(w.subkey) + `}`, api.InvalidArgument},
		"argument, workspace null":     {"", key(w.subkey) + `,"workspace_id":null}`, api.InvalidArgument},
		"argument, workspace a number": {"", key(w.subkey) + `,"workspace_id":5}`, api.InvalidArgument},
		"argument, other workspace":    {"", key(w.subkey) + id(unknown) + `}`, api.NotFound},
		"header, other workspace":      {w.owner, `{"path":"a"` + id(unknown) + `}`, api.NotFound},
		"header, workspace upper case": {w.owner, `{"path":"a"` + id(strings.ToUpper(w.workspace)) + `}`, api.NotFound},
		"header, workspace empty":      {w.owner, `{"path":"a"` + id("") + `}`, api.NotFound},
		"argument wins over header":    {other.owner, key(w.subkey) + id(w.workspace) + `}`, ""},
		"bad argument wins too":        {w.owner, key("aan_nonsense") + id(w.workspace) + `}`, api.Unauthenticated},
		"empty argument":               {w.owner, key("") + id(w.workspace) + `}`, api.Unauthenticated},
		"argument a number":            {w.owner, `{"path":"a","api_key":1` + id(w.workspace) + `}`, api.Unauthenticated},
		"no key":                       {"", `{"path":"a"` + id(w.workspace) + `}`, api.Unauthenticated},
		"another tenant's key":         {other.owner, `{"path":"a"` + id(w.workspace) + `}`, api.Unauthenticated},
		"no key and a wrong input":     {"", `{"pat":"a"}`, api.Unauthenticated},
	} {
		want := test.want
		if want == "" {
			want = api.NotFound
		}
		p := w.call(test.header, "aanet_read_file", test.arguments).refused(t)
		if p.Code != want {
			t.Errorf("%s: %s %v, want %s", name, p.Code, p.Errors, want)
		}
	}
	p := w.call("", "aanet_read_file", `{"api_key":`+strconv.Quote(w.subkey)+`,"limit":0}`).refused(t)
	var fields []string
	for _, f := range p.Errors {
		fields = append(fields, f.Field)
	}
	if got := strings.Join(fields, " "); got != "workspace_id path limit" {
		t.Errorf("a key without its workspace and more: faults of %q", got)
	}
}

func TestOwnerToolsAnswerSubkeysByTheirOwnRules(t *testing.T) {
	w := newWorld(t)
	for _, op := range api.Tools() {
		if op.Who != api.Owner {
			continue
		}
		if p := w.call(w.subkey, op.Tool(), `{}`).refused(t); p.Code != api.OwnerOnly || p.Status != 403 {
			t.Errorf("%s: %+v", op.Tool(), p)
		}
	}
	var rows struct{ Result []struct{ Status string } }
	w.call(w.owner, "aanet_get_activity", `{}`).decode(t, &rows)
	if len(rows.Result) == 0 || rows.Result[0].Status != "OWNER_ONLY" {
		t.Errorf("not logged: %+v", rows)
	}
}

func TestArgumentsAreReadExactlyButLeniently(t *testing.T) {
	w := newWorld(t)
	for arguments, field := range map[string]string{ // to the field at fault; "" for none
		`{"name":"a","lease_seconds":60}`:                  "",
		`{"name":"a","lease_seconds":60.0}`:                "",
		`{"name":"a","lease_seconds":6e1}`:                 "",
		`{"name":"a","lease_seconds":"60"}`:                "",
		`{"name":"a","lease_seconds":"60.0"}`:              "",
		`{"name":"a","lease_seconds":60.5}`:                "lease_seconds",
		`{"name":"a","lease_seconds":"60.5"}`:              "lease_seconds",
		`{"name":"a","lease_seconds":"sixty"}`:             "lease_seconds",
		`{"name":"a","lease_seconds":" 60"}`:               "lease_seconds",
		`{"name":"a","lease_seconds":true}`:                "lease_seconds",
		`{"name":"a","lease_seconds":null}`:                "lease_seconds",
		`{"name":"a","lease_seconds":0}`:                   "lease_seconds",
		`{"name":"a","lease_seconds":3601}`:                "lease_seconds",
		`{"name":"a","lease_seconds":9223372036854775808}`: "lease_seconds",
		`{"name":"a","lease_seconds":1e999999999}`:         "lease_seconds",
		`{"name":"a"}`:                                       "lease_seconds",
		`{"name":1,"lease_seconds":1}`:                       "name",
		`{"name":"a\u0000","lease_seconds":1}`:               "name",
		`{"name":"a","lease_seconds":1,"lease_second":1}`:    "lease_second",
		`{"name":"a","lease_seconds":1,"Name":"b"}`:          "Name",
		`{"name":"a","lease_seconds":1,"` + "\x7f" + `":1}`:  "(unprintable name)",
		`{"name":"a","lease_seconds":1,"if_none_match":"*"}`: "if_none_match",
	} {
		o := w.call(w.owner, "aanet_acquire_lock", arguments)
		if field == "" {
			o.decode(t, &struct{}{})
			continue
		}
		if p := o.refused(t); p.Code != api.InvalidArgument || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: %+v", arguments, p)
		}
	}
	w.call(w.owner, "aanet_write_file", `{"path":"a","content":"x","stamp":"true"}`).decode(t, &struct{}{})
	if text := w.call(w.owner, "aanet_read_file", `{"path":"a"}`).text(t); !strings.Contains(text, "workspace_id="+w.workspace) {
		t.Errorf("no stamp: %s", text)
	}
	if p := w.call(w.owner, "aanet_write_file", `{"path":"a","content":"x","if_none_match":true}`).refused(t); len(p.Errors) != 1 {
		t.Errorf("the input of a REST header: %+v", p)
	}
	var minted struct {
		SubkeyID string `json:"subkey_id"`
	}
	w.call(w.owner, "aanet_mint_subkey", `{"label":"x","budget_cap":9007199254740991}`).decode(t, &minted)
	if text := w.call(w.owner, "aanet_list_subkeys", `{}`).text(t); !strings.Contains(text, "9007199254740991") {
		t.Errorf("a large integer was altered: %s", text)
	}
}

func TestBrokenArgumentsAreRefusedUnread(t *testing.T) {
	w := newWorld(t)
	for name, arguments := range map[string]string{
		"duplicate name":        `{"path":"a","path":"b","content":"x"}`,
		"duplicate by escape":   `{"path":"a","p\u0061th":"b","content":"x"}`,
		"duplicate key":         `{"path":"a","content":"x","api_key":"a","api_key":"b"}`,
		"duplicate deep inside": `{"path":"a","content":"x","z":[{"b":1,"b":2}]}`,
		"lone surrogate":        `{"path":"a","content":"\ud800"}`,
		"raw FF":                "{\"path\":\"a\",\"content\":\"\xff\"}",
		"raw surrogate":         "{\"path\":\"a\",\"content\":\"\xed\xa0\x80\"}",
		"overlong":              "{\"path\":\"a\",\"content\":\"\xc0\x80\"}",
		"a list":                `["a"]`,
		"a string":              `"{}"`,
		"a number":              `1`,
	} {
		if p := w.call(w.owner, "aanet_write_file", arguments).refused(t); p.Code != api.Malformed || p.Status != 400 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if p := w.call("", "aanet_write_file", `{"path":"a","path":"b"}`).refused(t); p.Code != api.Unauthenticated {
		t.Errorf("without a key: %+v", p)
	}
	if p := w.call("", "aanet_write_file", `{"api_key":"`+w.owner+`","workspace_id":"`+w.workspace+`","path":"a","path":"b"}`).refused(t); p.Code != api.Malformed {
		t.Errorf("with a key that cannot be read: %+v", p)
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if p := w.call(w.owner, "aanet_write_file", `{"path":`+deep+`}`).refused(t); p.Code != api.InvalidArgument {
		t.Errorf("deep: %+v", p)
	}
	if p := w.call(w.owner, "aanet_read_file", `{"path":"a"}`).refused(t); p.Code != api.NotFound {
		t.Errorf("something was written: %+v", p)
	}
	w.call(w.owner, "aanet_write_file", `{"path":"b","content":"\ufffd"}`).decode(t, &struct{}{})
	if text := w.call(w.owner, "aanet_read_file", `{"path":"b"}`).text(t); !strings.Contains(text, `"content":"`+"\uFFFD"+`"`) {
		t.Errorf("a real replacement character: %s", text)
	}
}

func TestArgumentsMayBeMissing(t *testing.T) {
	w := newWorld(t)
	for _, params := range []string{
		`{"name":"aanet_get_workspace"}`, `{"name":"aanet_get_workspace","arguments":null}`, `{"arguments":{},"name":"aanet_get_workspace"}`,
	} {
		r := w.post(`{"jsonrpc":"2.0","params":`+params+`,"method":"tools/call","id":"x"}`, "Authorization: Bearer "+w.owner)
		parse(t, r).decode(t, &struct{}{})
		if !strings.Contains(r.body, `"id":"x"`) {
			t.Errorf("%s: %s", params, r.body)
		}
	}
}
