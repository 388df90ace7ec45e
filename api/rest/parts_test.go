package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"aanet/api"
)

func TestSlowBodies(t *testing.T) {
	const limit = time.Second // so long that a body at once is one on a busy machine too
	refusals, later := make(chan *api.Refusal, 1), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, refusal := readBody(w, r, limit)
		refusals <- refusal
		select {
		case <-r.Context().Done():
		case <-time.After(3 * limit / 2):
		}
		later <- r.Context().Err()
	}))
	defer server.Close()
	send := func(body io.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, body)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}
	dripping, drip := io.Pipe()
	defer drip.CloseWithError(errors.New("the test is over"))
	go send(dripping)
	go func() {
		for {
			if _, err := io.WriteString(drip, " "); err != nil {
				return
			}
			time.Sleep(limit / 10)
		}
	}()
	if refusal := <-refusals; refusal == nil || refusal.Code != api.Malformed {
		t.Errorf("a body that drips: %v", refusal)
	}
	<-later
	go send(strings.NewReader(strings.Repeat(" ", 5*bodyChunk)))
	if refusal := <-refusals; refusal != nil {
		t.Errorf("a body at once: %v", refusal)
	}
	if err := <-later; err != nil {
		t.Errorf("the time limit of the body ended the call: %v", err)
	}
}

// Any file's path can be written into an address and comes back as it was.
func FuzzAddressesRoundTrip(f *testing.F) {
	for _, path := range []string{"a", "a/b", "a//b", "../x", "é%41?#;&", "", "locks/renew", "\xff\x00"} {
		f.Add(path)
	}
	all := newRoutes(api.Operations())
	f.Fuzz(func(t *testing.T, path string) {
		for _, escape := range []func(string) string{url.PathEscape, func(p string) string { return (&url.URL{Path: "/" + p}).EscapedPath()[1:] }} {
			found, ok := all.find("/v1/workspaces/w/files/" + escape(path))
			if !ok || found.path != "/v1/workspaces/{workspace_id}/files/{path...}" || found.params["path"] != path || found.params["workspace_id"] != "w" {
				t.Errorf("%q came back as %q", path, found.params)
			}
		}
	})
}

// No header makes the reader of etags fail, and an etag that is in a list is found in it.
func FuzzEtags(f *testing.F) {
	f.Add(`"a", W/"b"`, "c")
	f.Add(`*`, "")
	f.Fuzz(func(t *testing.T, header, etag string) {
		if !strings.Contains(etag, `"`) && !noneMatch([]string{`"other"`, "W/" + quoted(etag), header}, etag) {
			t.Errorf("%q is not found", etag)
		}
	})
}
