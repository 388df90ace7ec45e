package api

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names. All but the segments are in bytes of UTF-8.
const (
	pathBytesMax    = 1024
	segmentBytesMax = 255
	segmentsMax     = 64
	nameBytesMax    = 255 // lock names and topics
	etagBytesMax    = 255
)

const (
	faultUTF8    = "must be valid UTF-8"
	faultNUL     = "must not contain NUL characters"
	faultControl = "must not contain control characters"
)

// PathFault says what is wrong with the path of a file, or "" when nothing is. Paths are never folded or
// cleaned: one file has one address, and another spelling of it is a fault.
func PathFault(path string) string {
	if fault := nameFault(path, pathBytesMax); fault != "" {
		return fault
	}
	if strings.Contains(path, `\`) {
		return "must not contain backslashes; segments are separated by /"
	}
	if path[0] == '/' || path[len(path)-1] == '/' {
		return "must not begin or end with a slash"
	}
	count := 0
	for segment := range strings.SplitSeq(path, "/") {
		if fault := segmentFault(segment); fault != "" {
			return fault
		}
		count++
	}
	if count > segmentsMax {
		return fmt.Sprintf("must have at most %d segments", segmentsMax)
	}
	return ""
}

func segmentFault(segment string) string {
	switch {
	case segment == "":
		return "must not contain empty segments (two slashes in a row)"
	case segment == "." || segment == "..":
		return "must not contain . or .. as a segment"
	case len(segment) > segmentBytesMax:
		return fmt.Sprintf("must have segments of at most %d bytes", segmentBytesMax)
	}
	return ""
}

// ScopeFault says what is wrong with a path scope, or "" when nothing is. A scope is a path that may carry
// one trailing slash; nothing stands for "everything", so a scope can not be widened by an empty value.
func ScopeFault(scope string) string {
	return PathFault(NormalizeScope(scope))
}

// NormalizeScope gives a scope without fault as it is stored: without its trailing slash.
func NormalizeScope(scope string) string {
	return strings.TrimSuffix(scope, "/")
}

// InScope tells whether a stored scope covers a path or lock name: the name itself and everything below it,
// by whole segments.
func InScope(scope, name string) bool {
	rest, ok := strings.CutPrefix(name, scope)
	return ok && (rest == "" || rest[0] == '/')
}

// Ancestors lists the directories above a path without fault, from the top: "a/b/c" is below "a" and "a/b".
func Ancestors(path string) []string {
	var above []string
	for i := range len(path) {
		if path[i] == '/' {
			above = append(above, path[:i])
		}
	}
	return above
}

// LockNameFault says what is wrong with the name of a lock, or "" when nothing is. A URL is a good name: only
// control characters and the segments . and .. are refused.
func LockNameFault(name string) string {
	if fault := nameFault(name, nameBytesMax); fault != "" {
		return fault
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "." || segment == ".." {
			return "must not contain . or .. as a segment"
		}
	}
	return ""
}

// TopicFault says what is wrong with the topic of a message, or "" when nothing is.
func TopicFault(topic string) string {
	return nameFault(topic, nameBytesMax)
}

// nameFault checks what paths, lock names and topics share.
func nameFault(name string, bytesMax int) string {
	switch {
	case name == "" || len(name) > bytesMax:
		return fmt.Sprintf("must be 1 to %d bytes long", bytesMax)
	case !utf8.ValidString(name):
		return faultUTF8
	case strings.ContainsFunc(name, unicode.IsControl):
		return faultControl
	}
	return ""
}

// TextFault says what is wrong with a text of runesMin to runesMax Unicode code points, or "" when nothing
// is. Control characters (category Cc) are refused unless allowed; NUL always is.
func TextFault(text string, runesMin, runesMax int, allowControl bool) string {
	if fault := ContentFault(text); fault != "" {
		return fault
	}
	if n := utf8.RuneCountInString(text); n < runesMin || n > runesMax {
		if runesMin == 0 {
			return fmt.Sprintf("must be at most %d characters long", runesMax)
		}
		return fmt.Sprintf("must be %d to %d characters long", runesMin, runesMax)
	}
	if !allowControl && strings.ContainsFunc(text, unicode.IsControl) {
		return faultControl
	}
	return ""
}

// ContentFault says what keeps a text from being stored, or "" when nothing does. Its size has a refusal of
// its own and is not checked here.
func ContentFault(content string) string {
	switch {
	case strings.IndexByte(content, 0) >= 0:
		return faultNUL
	case !utf8.ValidString(content):
		return faultUTF8
	}
	return ""
}

// ParseIfMatch reads the one etag that a write is conditional on, bare or in double quotes. It is false for
// every other form (empty, *, weak, a list), which must be refused: read as "no condition", a stale writer
// would overwrite what it has not seen.
func ParseIfMatch(value string) (etag string, ok bool) {
	etag = value
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		etag = value[1 : len(value)-1]
	} else if strings.HasPrefix(value, "W/") || strings.HasPrefix(value, "w/") {
		return "", false
	}
	if etag == "" || etag == "*" || len(etag) > etagBytesMax {
		return "", false
	}
	for i := range len(etag) {
		if c := etag[i]; c <= ' ' || c > '~' || c == '"' || c == ',' {
			return "", false
		}
	}
	return etag, true
}
