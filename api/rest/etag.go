package rest

import "strings"

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
