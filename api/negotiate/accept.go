// Package negotiate reads what a client accepts, and compresses what may be compressed.
package negotiate

import (
	"strconv"
	"strings"
)

// Prefers tells whether an Accept header puts one media type before another. Without a preference it does not.
func Prefers(accept, media, other string) bool {
	return Weight(accept, media) > Weight(accept, other)
}

// Weight is the q value that an Accept header gives a media type, by its most specific range (RFC 9110 12.5.1).
func Weight(accept, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	best, q := 0, 0.0
	for item := range strings.SplitSeq(accept, ",") {
		name, value := weighted(item)
		rank := map[string]int{"*/*": 1, kind + "/*": 2, media: 3}[name]
		if rank > best {
			best, q = rank, value
		}
	}
	return q
}

// AcceptsGzip tells whether an Accept-Encoding header allows gzip.
func AcceptsGzip(header string) bool {
	named, any := -1.0, -1.0
	for item := range strings.SplitSeq(header, ",") {
		switch name, value := weighted(item); name {
		case "gzip":
			named = value
		case "*":
			any = value
		}
	}
	return named > 0 || named < 0 && any > 0
}

// weighted splits an item of an Accept header into its name and its q value; a q that is no number is 0.
func weighted(item string) (name string, q float64) {
	name, params, _ := strings.Cut(item, ";")
	q = 1
	for param := range strings.SplitSeq(params, ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		if strings.EqualFold(key, "q") {
			q, _ = strconv.ParseFloat(value, 64)
		}
	}
	return strings.ToLower(strings.TrimSpace(name)), q
}
