package client

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// ErrPlainHTTP is returned, and nothing is sent, when the service is on another machine and its address is no https one:
// anybody on the way could read the key. WithPlainHTTP allows it.
var ErrPlainHTTP = errors.New("client: the address must be https, or http on this machine")

// faultOfBase tells what keeps an address from being used.
func faultOfBase(base string, plain bool) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("client: the service's address is no URL") // without the text, which may hold a secret
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return fmt.Errorf("client: %q is no address of a service: http or https, host, port, and no more than a path", u.Redacted())
	case u.Scheme == "http" && !plain && !isLoopback(u.Hostname()):
		return ErrPlainHTTP
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

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
