package api

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// deepPath has so many segments of one letter.
func deepPath(segments int) string { return strings.Repeat("d/", segments-1) + "f" }

// longPath is so many bytes of segments below their limit.
func longPath(bytes int) string {
	return strings.Repeat(strings.Repeat("x", 127)+"/", 8)[:bytes-1] + "z"
}

func TestPathsThatAreFine(t *testing.T) {
	for _, path := range []string{
		"a", "a/b", "notes/2026.md", ".hidden", "..a", "a..", "...", "a/.../b", "-", " ", "a b/ c ",
		"caf\u00e9", "cafe\u0301", "／", "．．", "\u202e", "👩‍👩‍👧", "\ufffd", "\u2028", "%2e%2e", "a%2Fb", "a?b#c&d",
		"append", "x/_lock", "C:", "*",
		deepPath(64), longPath(1024), strings.Repeat("x", 255), strings.Repeat("é", 127), "a/" + strings.Repeat("x", 255) + "/b",
	} {
		if fault := PathFault(path); fault != "" {
			t.Errorf("PathFault(%.60q) = %q, want none", path, fault)
		}
	}
}

func TestPathFaultsNameTheLimit(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", "1 to 1024 bytes"},
		{longPath(1023) + "é", "1 to 1024 bytes"},
		{strings.Repeat("x", 100_000), "1 to 1024 bytes"},
		{"/", "begin or end"},
		{"/a", "begin or end"},
		{"a/", "begin or end"},
		{"a//", "begin or end"},
		{"a//b", "empty segments"},
		{".", ". or .."},
		{"..", ". or .."},
		{"./a", ". or .."},
		{"a/./b", ". or .."},
		{"a/../b", ". or .."},
		{"a/..", ". or .."},
		{`a\b`, "backslash"},
		{"a\x00b", "control"},
		{"a\n", "control"},
		{"a\tb", "control"},
		{"a\x7f", "control"},
		{"a\u0085b", "control"},
		{"a\u009f", "control"},
		{"a\xff", "UTF-8"},
		{"\xc0\x80", "UTF-8"},
		{"\xed\xa0\x80", "UTF-8"},
		{strings.Repeat("x", 256), "255 bytes"},
		{strings.Repeat("é", 128), "255 bytes"},
		{"a/" + strings.Repeat("😀", 64), "255 bytes"},
		{deepPath(65), "64 segments"},
		{deepPath(300), "64 segments"},
	} {
		if fault := PathFault(c.path); !strings.Contains(fault, c.want) {
			t.Errorf("PathFault(%.60q) = %q, want something about %q", c.path, fault, c.want)
		}
	}
}

func TestScopes(t *testing.T) {
	for scope, stored := range map[string]string{
		"notes": "notes", "notes/": "notes", "a/b/": "a/b", "*": "*", longPath(1024) + "/": longPath(1024),
	} {
		if fault := ScopeFault(scope); fault != "" || NormalizeScope(scope) != stored {
			t.Errorf("scope %.60q: fault %q, stored as %.60q", scope, fault, NormalizeScope(scope))
		}
	}
	for _, scope := range []string{
		"", "/", "//", ".", "..", "./", "../", "notes//", "/notes", "notes/..", "notes/../", "a\x00", `a\`, "a\xff", strings.Repeat("x", 3000),
	} {
		if ScopeFault(scope) == "" {
			t.Errorf("scope %.60q was accepted", scope)
		}
	}
}

func TestInScope(t *testing.T) {
	for _, c := range []struct {
		scope, name string
		want        bool
	}{
		{"notes", "notes", true},
		{"notes", "notes/a", true},
		{"notes", "notes/a/b", true},
		{"notes", "notes/", true}, // a lock name
		{"notes", "notes//x", true},
		{"notes", "notes-secret", false},
		{"notes", "notesx/a", false},
		{"notes", "note", false},
		{"notes", "Notes/a", false},
		{"notes", "a/notes", false},
		{"notes", "", false},
		{"a/b", "a", false},
		{"a/b", "a/b/c", true},
		{"a_b", "aXb/c", false},
		{"caf\u00e9", "cafe\u0301/x", false},
	} {
		if got := InScope(c.scope, c.name); got != c.want {
			t.Errorf("InScope(%q, %q) = %v", c.scope, c.name, got)
		}
	}
}

func TestAncestors(t *testing.T) {
	for path, want := range map[string][]string{"a": nil, "a/b": {"a"}, "a/b/c": {"a", "a/b"}} {
		if got := Ancestors(path); !slices.Equal(got, want) {
			t.Errorf("Ancestors(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestLockNamesAndTopics(t *testing.T) {
	for _, c := range []struct {
		name        string
		lock, topic bool
	}{
		{"build", true, true},
		{"https://example.com//a?b#c", true, true},
		{"/a/", true, true},
		{`a\b`, true, true},
		{"a b", true, true},
		{strings.Repeat("x", 255), true, true},
		{"..", false, true},
		{"work/../other", false, true},
		{"./a", false, true},
		{"", false, false},
		{strings.Repeat("x", 256), false, false},
		{strings.Repeat("é", 128), false, false},
		{"a\nb", false, false},
		{"a\u0085", false, false},
		{"a\x00", false, false},
		{"a\xff", false, false},
	} {
		if fault := LockNameFault(c.name); (fault == "") != c.lock {
			t.Errorf("LockNameFault(%.40q) = %q", c.name, fault)
		}
		if fault := TopicFault(c.name); (fault == "") != c.topic {
			t.Errorf("TopicFault(%.40q) = %q", c.name, fault)
		}
	}
}

func TestTextFault(t *testing.T) {
	const label, body = false, true // whether control characters are allowed
	for _, c := range []struct {
		text    string
		min     int
		control bool
		want    string
	}{
		{"a", 1, label, ""},
		{strings.Repeat("😀", 200), 1, label, ""},
		{strings.Repeat("x", 200), 1, body, ""},
		{"", 0, label, ""},
		{"a\r\n\tb", 1, body, ""},
		{"\ufffd", 1, label, ""},
		{"", 1, label, "1 to 200 characters"},
		{strings.Repeat("x", 201), 1, body, "1 to 200 characters"},
		{strings.Repeat("x", 201), 0, body, "at most 200 characters"},
		{"a\nb", 1, label, "control"},
		{"a\u0085b", 1, label, "control"},
		{"a\x00b", 1, body, "NUL"},
		{"a\x00b", 1, label, "NUL"},
		{"a\xffb", 1, body, "UTF-8"},
	} {
		fault := TextFault(c.text, c.min, 200, c.control)
		if c.want == "" && fault != "" || !strings.Contains(fault, c.want) {
			t.Errorf("TextFault(%.40q, %d, 200, %v) = %q, want %q", c.text, c.min, c.control, fault, c.want)
		}
	}
}

func TestContentFault(t *testing.T) {
	for _, content := range []string{"", "\ufeffBOM\r\n", "\x01\x7f\u0085", "<script>&", `\u0041`, "\u2028", "\ufffd"} {
		if fault := ContentFault(content); fault != "" {
			t.Errorf("ContentFault(%q) = %q, want none", content, fault)
		}
	}
	for content, want := range map[string]string{"a\x00": faultNUL, "\xff": faultUTF8, "\xed\xa0\x80": faultUTF8} {
		if fault := ContentFault(content); fault != want {
			t.Errorf("ContentFault(%q) = %q, want %q", content, fault, want)
		}
	}
}

func TestIfMatch(t *testing.T) {
	long := strings.Repeat("e", 255)
	for value, want := range map[string]string{
		"e1": "e1", `"e1"`: "e1", "a-b_c.d/e+f=": "a-b_c.d/e+f=", long: long, `"` + long + `"`: long, `"W/e1"`: "W/e1",
	} {
		if etag, ok := ParseIfMatch(value); !ok || etag != want || etagFault(value) != "" {
			t.Errorf("ParseIfMatch(%.40q) = %.40q, %v; want %.40q", value, etag, ok, want)
		}
	}
	for _, value := range []string{
		"", `""`, `"`, "*", `"*"`, `W/"e1"`, `w/"e1"`, "W/e1", `"x", "e1"`, "x,e1", "x, e1", `"x,e1"`, ` "e1"`, `"e1" `,
		"e 1", " e1", "e1 ", `e"1`, `"e"1"`, `"e1`, `e1"`, `""e1""`, "e\x00", "e\n", "e\x7f", "é", "\xff", "'e 1'", long + "e", `"` + long + `e"`,
	} {
		if etag, ok := ParseIfMatch(value); ok || etagFault(value) == "" {
			t.Errorf("ParseIfMatch(%.40q) = %q, want a refusal", value, etag)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"", "/", "a", "a/", "a//b", "a/../b", "notes/x", `a\b`, "a\x00", "é/\u0085", "\xff", deepPath(65), longPath(1024)} {
		f.Add(seed, "notes")
		f.Add(seed, seed+"/b")
	}
	f.Fuzz(func(t *testing.T, path, other string) {
		if PathFault(path) == "" {
			checkFinePath(t, path, other)
		}
		if ScopeFault(path) == "" {
			scope := NormalizeScope(path)
			if PathFault(scope) != "" || NormalizeScope(scope) != scope || len(path)-len(scope) > 1 {
				t.Fatalf("scope %q is stored as %q", path, scope)
			}
		}
		if InScope(path, other) != (other == path || strings.HasPrefix(other, path+"/")) {
			t.Fatalf("InScope(%q, %q) = %v", path, other, InScope(path, other))
		}
		if PathFault(path) == "" && LockNameFault(path) != "" && len(path) <= nameBytesMax {
			t.Fatalf("path %q is no lock name: %s", path, LockNameFault(path))
		}
		for _, fault := range []string{PathFault(path), LockNameFault(path), TextFault(path, 1, 200, false)} {
			if fault != "" && !strings.HasPrefix(fault, "must ") {
				t.Fatalf("the fault of %q reads %q", path, fault)
			}
		}
		if etag, ok := ParseIfMatch(path); ok && etag != path && `"`+etag+`"` != path {
			t.Fatalf("ParseIfMatch(%q) = %q", path, etag)
		}
	})
}

// checkFinePath holds the rules of a path without fault, each stated anew.
func checkFinePath(t *testing.T, path, other string) {
	t.Helper()
	if len(path) > 1024 || !utf8.ValidString(path) || strings.ContainsRune(path, '\\') {
		t.Fatalf("%q passed", path)
	}
	for _, r := range path {
		if unicode.Is(unicode.Cc, r) {
			t.Fatalf("%q passed with a control character", path)
		}
	}
	segments := strings.Split(path, "/")
	for _, s := range segments {
		if s == "" || s == "." || s == ".." || len(s) > 255 {
			t.Fatalf("%q passed with segment %q", path, s)
		}
	}
	above := Ancestors(path)
	if len(segments) > 64 || len(above) != len(segments)-1 {
		t.Fatalf("%q has %d segments and ancestors %q", path, len(segments), above)
	}
	for i, dir := range above {
		if PathFault(dir) != "" || dir != strings.Join(segments[:i+1], "/") || !InScope(dir, path) || InScope(path, dir) {
			t.Fatalf("%q is listed above %q", dir, path)
		}
	}
	if !InScope(path, path) || !InScope(path, path+"/"+other) || InScope(path, path+"x") {
		t.Fatalf("the scope %q does not cover by whole segments", path)
	}
}
