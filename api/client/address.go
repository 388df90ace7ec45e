package client

import (
	"net/url"
	"strings"
)

// escapePath writes a path or lock name as the end of an address: each segment percent-encoded, slashes kept, so that the
// service decodes exactly the name. Empty segments stay: "https://example.com" is a good lock name.
func escapePath(name string) string {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// escapeDirectory is escapePath for paths of which "/" is another spelling of the root, "".
func escapeDirectory(path string) string {
	if path == "/" {
		return ""
	}
	return escapePath(path)
}

// escapeSegment writes a name as one segment of an address.
func escapeSegment(name string) string { return url.PathEscape(name) }
