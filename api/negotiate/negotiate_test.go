package negotiate_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"aanet/api/negotiate"
)

func TestWeights(t *testing.T) {
	for _, c := range []struct {
		accept string
		html   bool
	}{
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true}, {"*/*", false}, {"", false}, {"text/*", true},
		{"text/html;q=0", false}, {"application/json, text/html", false}, {"TEXT/HTML", true}, {"text/html;level=1;q=0.4, application/json;q=0.5", false},
		{"text/html;q=NaN", false}, {"text/*;q=1, text/html;q=0.1, application/json;q=0.2", false},
	} {
		if got := negotiate.Prefers(c.accept, "text/html", "application/json"); got != c.html {
			t.Errorf("%q: prefers HTML %v", c.accept, got)
		}
	}
	for header, want := range map[string]bool{"gzip": true, "br, GZIP;q=0.1": true, "": false, "*": true, "gzip;q=0": false, "*;q=0, gzip": true, "gzipped": false, "identity": false} {
		if negotiate.AcceptsGzip(header) != want {
			t.Errorf("%q: gzip %v", header, !want)
		}
	}
}

// No header makes the reader of weights fail.
func FuzzWeights(f *testing.F) {
	f.Add(`gzip;q=0.5, *;q=`)
	f.Add(`text/html, */*;q=0.1`)
	f.Fuzz(func(t *testing.T, header string) {
		negotiate.AcceptsGzip(header)
		if w := negotiate.Weight(header, "text/plain"); w < 0 && !strings.Contains(header, "-") {
			t.Errorf("weight %v of %q", w, header)
		}
	})
}

func TestGzipIsUsedAgain(t *testing.T) {
	for _, text := range []string{"one", strings.Repeat("two", 1000), ""} {
		var b bytes.Buffer
		w := negotiate.NewGzip(&b)
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(&b)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("%d bytes came back as %d: %v", len(text), len(got), err)
		}
	}
}
