package rest

import (
	"strconv"
	"strings"
)

// prefers tells whether an Accept header puts one media type before another. Without a preference it does not.
func prefers(accept, media, other string) bool {
	return weight(accept, media) > weight(accept, other)
}

// weight is the q value that an Accept header gives a media type, by its most specific range (RFC 9110 12.5.1).
func weight(accept, media string) float64 {
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

// acceptsGzip tells whether an Accept-Encoding header allows gzip.
func acceptsGzip(header string) bool {
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

// noneMatch tells whether If-None-Match names the etag: any of a list, weak or not, or *. What is no
// entity tag matches nothing (RFC 9110 13.1.2).
func noneMatch(lines []string, etag string) bool {
	list := strings.Join(lines, ",")
	if strings.TrimSpace(list) == "*" {
		return true
	}
	for {
		list = strings.TrimLeft(list, ", \t")
		tag, found := strings.CutPrefix(strings.TrimPrefix(list, "W/"), `"`)
		end := strings.IndexByte(tag, '"')
		if !found || end < 0 {
			return false
		}
		if tag[:end] == etag {
			return true
		}
		list = tag[end+1:]
	}
}

// quoted is an etag as a header shows it.
func quoted(etag string) string { return `"` + etag + `"` }

// tagged is implemented by outputs that have an etag.
type tagged interface{ EntityTag() string }

func entityTag(out any) string {
	if t, ok := out.(tagged); ok {
		return t.EntityTag()
	}
	return ""
}
