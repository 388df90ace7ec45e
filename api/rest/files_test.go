package rest_test

import (
	"compress/gzip"
	"io"
	"strconv"
	"strings"
	"testing"

	"aanet/api"
)

// A path is decoded once, and every spelling that is not the file's one address is refused or another file.
func TestFileAddresses(t *testing.T) {
	s := start(t, nil)
	for _, c := range []struct{ address, path string }{
		{"/files/a/b", "a/b"}, {"/files/a%2Fb", "a/b"}, {"/files/a%252Fb", "a%2Fb"}, {"/files/caf%C3%A9", "café"},
		{"/files/x%2Fcaf%C3%A9", "x/café"}, {"/files/append", "append"}, {"/files/stream", "stream"},
		{"/files/files", "files"}, {"/files/a%20b%3F%23", "a b?#"}, {"/files/%F0%9F%90%98", "🐘"}, {"/files/a+b", "a+b"},
		{"/files/odd/a%2541%3Fb%23c&d=e;f%252Fg", "odd/a%41?b#c&d=e;f%2Fg"}, {"/files/a:b", "a:b"}, {"/file%73/y", "y"},
	} {
		written := s.call("PUT", s.at(c.address), `{"content":""}`)
		if written.text("path") != c.path {
			t.Errorf("%s wrote %q, want %q", c.address, written.text("path"), c.path)
		}
	}
	for _, address := range []string{
		"/files/", "/files", "/files/..", "/files/%2e%2e", "/files/a/../b", "/files/a/%2E%2E/b", "/files//a", "/files/a//b", "/files/a/", "/files/./a",
		"/files/%2Fa", "/files/a%00", "/files/a%0Ab", "/files/%FF", "/files/a%ED%A0%80", "/files/a%5Cb", "/files//", "/files/" + strings.Repeat("x", 300),
		"/files/" + strings.Repeat("a/", 64) + "b", "/files/" + strings.Repeat("abcdefgh/", 200) + "b",
	} {
		if fields := s.call("PUT", s.at(address), `{"content":""}`).faults(); fields != "path" {
			t.Errorf("PUT %s: faults of %q, want path", address, fields)
		}
	}
	for _, address := range []string{"/files//", "/files/%2F", "/files/%FF", "/files/.."} {
		s.call("GET", s.at(address), "").faults()
	}
	for _, root := range []string{"/files", "/files/"} {
		listed := s.call("GET", s.at(root), "").is(200)
		if listed.json["is_dir"] != true || !strings.Contains(listed.body, `"append"`) {
			t.Errorf("%s is not the root: %s", root, listed.body)
		}
	}
	for _, unknown := range []string{"/", "/files2/a", "/subkeys/", "/subkeys/a/b", "/webhook"} {
		s.call("GET", s.at(unknown), "").refused(api.NotFound)
	}
	for _, unknown := range []string{"/v1", "/v1/", "/v1/nothing", "/v2/balance", "/nothing", "/v1/workspaces//files/a", "/v1/workspaces/", "//v1/balance"} {
		s.call("GET", unknown, "").refused(api.NotFound)
	}
}

func TestLockNames(t *testing.T) {
	s := start(t, nil)
	first := s.call("PUT", s.at("/locks/a/b"), `{"lease_seconds":60}`).is(200)
	again := s.call("PUT", s.at("/locks/a%2Fb"), `{"lease_seconds":60}`).is(200)
	if again.json["reacquired"] != true || first.json["fencing_token"] != again.json["fencing_token"] {
		t.Errorf("a/b and a%%2Fb are two locks: %s", again.body)
	}
	for address, name := range map[string]string{
		"/locks/a%252Fb": "a%2Fb", "/locks/renew": "renew", "/locks/release": "release", "/locks/a/renew": "a/renew",
		"/locks/a%20b": "a b", "/locks/a%3Fb%23": "a?b#", "/locks/%F0%9F%90%98": "🐘", "/locks/https:%2F%2Fexample.com/x": "https://example.com/x",
	} {
		taken := s.call("PUT", s.at(address), `{"lease_seconds":60}`).is(200)
		if taken.text("name") != name || taken.json["reacquired"] != false {
			t.Errorf("%s took %s", address, taken.body)
		}
	}
	s.call("PUT", s.at("/locks/.."), `{"lease_seconds":60}`).faults()
	for _, list := range []string{"/locks", "/locks/"} {
		if got := len(s.call("GET", s.at(list), "").is(200).json["result"].([]any)); got != 9 {
			t.Errorf("%s lists %d locks", list, got)
		}
		s.call("PUT", s.at(list), `{"lease_seconds":60}`).refused(api.MethodNotAllowed).has("Allow", "GET, HEAD, OPTIONS")
	}
}

func TestConditionsOfWrites(t *testing.T) {
	s := start(t, nil)
	file := s.at("/files/f")
	made := s.call("PUT", file, `{"content":"1"}`, "If-None-Match: *").is(201)
	etag := made.text("etag")
	made.has("ETag", `"`+etag+`"`)
	s.call("PUT", file, `{"content":"2"}`, "If-None-Match: *").refused(api.Conflict)
	for _, c := range []struct {
		headers []string
		body    string
		faults  string
	}{
		{[]string{`If-Match: W/"` + etag + `"`}, `{"content":"x"}`, "if_match"},
		{[]string{"If-Match: *"}, `{"content":"x"}`, "if_match"},
		{[]string{`If-Match: "` + etag + `", "y"`}, `{"content":"x"}`, "if_match"},
		{[]string{"If-Match: " + etag, "If-Match: " + etag}, `{"content":"x"}`, "if_match"},
		{[]string{"If-Match: other"}, `{"content":"x","if_match":"` + etag + `"}`, "if_match"},
		{[]string{"If-Match: " + etag}, `{"content":"x","if_match":7}`, "if_match"},
		{[]string{"If-Match: *"}, `{"content":"x","if_match":"` + etag + `"}`, "if_match"},
		{nil, `{"content":"x","if_match":""}`, "if_match"},
		{[]string{`If-None-Match: "x"`}, `{"content":"x"}`, "if_none_match"},
		{nil, `{"content":"x","if_none_match":true}`, "if_none_match"},
		{nil, `{"content":"x","path":"f"}`, "path"},
		{nil, `{"content":"x","workspace_id":"` + s.workspace + `"}`, "workspace_id"},
		{nil, `{}`, "content"},
	} {
		if got := s.call("PUT", file, c.body, c.headers...).faults(); got != c.faults {
			t.Errorf("%v %s: faults of %q, want %q", c.headers, c.body, got, c.faults)
		}
	}
	s.call("PUT", s.at("/locks/l"), `{"lease_seconds":5}`, "If-Match: "+etag).faults()
	s.call("POST", file, `{"content":"x"}`, "If-None-Match: *").faults()
	s.call("GET", file, "", "If-Match: "+etag).faults()
	if s.call("GET", file, "").text("content") != "1" {
		t.Fatal("a refused write wrote")
	}
	for _, form := range [][]string{{`If-Match: "%"`, `{"content":"x"}`}, {"If-Match: %", `{"content":"x"}`}, {`If-Match: "%"`, `{"content":"x","if_match":"%"}`}, {"If-Match: %", `{"content":"x","if_match":null}`}} {
		header, body := strings.ReplaceAll(form[0], "%", etag), strings.ReplaceAll(form[1], "%", etag)
		etag = s.call("PUT", file, body, header).is(200).text("etag")
	}
	s.call("PUT", file, `{"content":"y"}`, "If-Match: "+made.text("etag")).refused(api.Conflict)
	s.call("DELETE", file, `{"if_match":"`+etag+`"}`, "If-Match: other").faults()
	s.call("DELETE", file+"?if_match=x", `{"if_match":"`+etag+`"}`).faults()
	s.call("DELETE", file, `{"if_match":"`+made.text("etag")+`"}`).refused(api.Conflict)
	s.call("DELETE", file, `{"if_match":"`+etag+`"}`).is(200)
	s.call("DELETE", file, "", "If-Match: "+etag).refused(api.NotFound)
}

func TestReadingFiles(t *testing.T) {
	s := start(t, nil)
	file := s.at("/files/d/f")
	etag := s.call("PUT", file, `{"content":"h<é>llo"}`).is(201).header.Get("ETag")
	read := s.call("GET", file, "").is(200).has("ETag", etag).has("X-AANet-Cost", "1").has("Cache-Control", "no-store")
	if !strings.Contains(read.body, `"content":"h<é>llo"`) {
		t.Errorf("content is escaped: %s", read.body)
	}
	for _, given := range []string{etag, "W/" + etag, `"x", W/` + etag, "*", `"a,b" ,` + etag} {
		unchanged := s.call("GET", file, "", "If-None-Match: "+given).is(304).has("ETag", etag).has("X-AANet-Cost", "1")
		if unchanged.body != "" {
			t.Errorf("304 with a body: %q", unchanged.body)
		}
	}
	for _, given := range []string{`"x"`, strings.Trim(etag, `"`), `"`, "W/", ","} {
		s.call("GET", file, "", "If-None-Match: "+given).is(200)
	}
	text := s.call("GET", file, "", "Accept: text/plain").is(200).has("Content-Type", "text/plain; charset=utf-8").has("X-AANet-Next-Offset", "")
	if text.body != "h<é>llo" {
		t.Errorf("raw text %q", text.body)
	}
	part := s.call("GET", file+"?max_bytes=3", "", "Accept: text/plain, application/json;q=0.5").is(200).has("X-AANet-Next-Offset", "2")
	if part.body != "h<" {
		t.Errorf("raw part %q", part.body)
	}
	for _, accept := range []string{"*/*", "application/json", "text/plain;q=0.1, application/json", "nonsense", "text/plain;q=x"} {
		s.call("GET", file, "", "Accept: "+accept).is(200).has("Content-Type", "application/json")
	}
	s.call("GET", s.at("/files/d"), "", "Accept: text/plain").is(200).has("Content-Type", "application/json").has("ETag", "")
	s.call("GET", s.at("/files/none"), "", "Accept: text/plain").refused(api.NotFound)
	head := s.call("HEAD", file, "").is(200).has("ETag", etag).has("X-AANet-Cost", "1").has("Content-Length", strconv.Itoa(len(read.body)))
	if head.body != "" {
		t.Errorf("HEAD with a body: %q", head.body)
	}
	s.call("HEAD", s.at("/files/none"), "").is(404)
}

// A proxy or client that compresses must not change what the etag says.
func TestCompressedReadKeepsItsEtag(t *testing.T) {
	s := start(t, nil)
	file := s.at("/files/big")
	s.call("PUT", file, `{"content":"`+strings.Repeat("hello ", 400)+`"}`).is(201)
	plain := s.call("GET", file, "").has("Content-Encoding", "")
	zipped := s.call("GET", file, "", "Accept-Encoding: br, gzip").is(200).has("Content-Encoding", "gzip").has("ETag", plain.header.Get("ETag"))
	if !strings.Contains(strings.Join(zipped.header.Values("Vary"), ","), "Accept-Encoding") {
		t.Error("Vary does not name Accept-Encoding")
	}
	unzip, err := gzip.NewReader(strings.NewReader(zipped.body))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(unzip); err != nil || string(got) != plain.body {
		t.Errorf("unzipped %q, %v", got, err)
	}
	s.call("GET", file, "", "Accept-Encoding: gzip;q=0, *").has("Content-Encoding", "")
	s.call("GET", s.at("/files"), "", "Accept-Encoding: gzip").has("Content-Encoding", "")
	s.call("PUT", file, `{"content":"x"}`, "If-Match: "+zipped.header.Get("ETag")).is(200)
}
