package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Lanes is a number of database connections, 1 to 256.
type Lanes int

// UnmarshalText accepts a whole number from 1 to 256.
func (l *Lanes) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 256 {
		return errors.New("must be a whole number from 1 to 256")
	}
	*l = Lanes(n)
	return nil
}

// ListenAddress is host:port; the host may be empty (all interfaces) and the port 0 (any free one).
type ListenAddress string

// UnmarshalText accepts host:port with a numeric port.
func (a *ListenAddress) UnmarshalText(text []byte) error {
	_, port, err := net.SplitHostPort(string(text))
	if err != nil {
		return errors.New("must be host:port, like 127.0.0.1:8402")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return errors.New("must end in a port from 0 to 65535")
	}
	*a = ListenAddress(text)
	return nil
}

// PublicURL is an absolute http or https URL without a trailing slash.
type PublicURL string

// UnmarshalText accepts an absolute URL without user info, query and fragment; a trailing slash is dropped.
func (u *PublicURL) UnmarshalText(text []byte) error {
	if _, err := parseHTTPURL(string(text)); err != nil {
		return err
	}
	*u = PublicURL(strings.TrimRight(string(text), "/"))
	return nil
}

// parseHTTPURL accepts an absolute http or https URL without user info, query and fragment.
func parseHTTPURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	// url.Parse's own error repeats the text, which may hold a secret.
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("must be an absolute http or https URL")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("must be a URL without user, query and fragment")
	}
	return u, nil
}

// isLoopback tells whether a URL's host never leaves this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}

// Prefixes is a list of networks.
type Prefixes []netip.Prefix

// UnmarshalText accepts CIDRs and single addresses, separated by commas.
func (p *Prefixes) UnmarshalText(text []byte) error {
	var list []netip.Prefix
	for _, item := range splitList(text) {
		prefix, err := parsePrefix(item)
		if err != nil {
			return err
		}
		list = append(list, prefix)
	}
	*p = list
	return nil
}

// parsePrefix accepts 10.0.0.0/8, or 10.1.2.3 for that one address.
func parsePrefix(item string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(item); err == nil && address.Zone() == "" {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(item)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a CIDR like 10.0.0.0/8", item)
	}
	return prefix.Masked(), nil
}

// PrivateAddresses are the exceptions to the rule that webhooks reach public addresses only.
type PrivateAddresses struct {
	// HostPorts are lower-case host:port pairs.
	HostPorts []string
	// Prefixes are networks, on any port.
	Prefixes []netip.Prefix
}

// UnmarshalText accepts host:port pairs and CIDRs, separated by commas.
func (p *PrivateAddresses) UnmarshalText(text []byte) error {
	var parsed PrivateAddresses
	for _, item := range splitList(text) {
		if prefix, err := netip.ParsePrefix(item); err == nil {
			parsed.Prefixes = append(parsed.Prefixes, prefix.Masked())
			continue
		}
		host, port, err := net.SplitHostPort(item)
		number, portErr := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || portErr != nil || number == 0 {
			return fmt.Errorf("%q is neither host:port nor a CIDR", item)
		}
		parsed.HostPorts = append(parsed.HostPorts, strings.ToLower(item))
	}
	*p = parsed
	return nil
}

// Hosts is a list of lower-case host names or addresses, each with or without a port.
type Hosts []string

// UnmarshalText accepts hosts separated by commas; a host without a port stands for every port.
func (h *Hosts) UnmarshalText(text []byte) error {
	var list []string
	for _, item := range splitList(text) {
		u, err := url.Parse("//" + item)
		if err != nil || u.Host != item || u.Hostname() == "" {
			return fmt.Errorf("%q is not a host, like example.com or example.com:8443", item)
		}
		list = append(list, strings.ToLower(item))
	}
	*h = list
	return nil
}

// Origins is a list of web origins such as https://example.com.
type Origins []string

// UnmarshalText accepts scheme://host[:port] entries separated by commas.
func (o *Origins) UnmarshalText(text []byte) error {
	var list []string
	for _, item := range splitList(text) {
		u, err := parseHTTPURL(item)
		if err != nil || u.Path != "" {
			return fmt.Errorf("%q is not an origin, like https://example.com", item)
		}
		list = append(list, strings.ToLower(item))
	}
	*o = list
	return nil
}

// splitList splits at commas and drops blanks and empty items.
func splitList(text []byte) []string {
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}
