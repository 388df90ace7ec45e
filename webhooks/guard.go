// Package webhooks delivers the events of a workspace to the endpoints that its owner registered: at
// least once, signed, charged per attempt, and never to an address that is not public.
package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// URLBytesMax is the length of a webhook's address.
const URLBytesMax = 2048

const (
	httpsPort      = 443
	openPortMin    = 1024 // ports below are of services that expect no webhooks
	connectTimeout = 5 * time.Second
	resolveTimeout = 5 * time.Second
)

// azureWireServer is a public address that answers with credentials inside Azure.
var azureWireServer = netip.MustParsePrefix("168.63.129.16/32")

// errBlocked is what a dial to a refused address ends with. It names no address: its owner reads the reason.
var errBlocked = errors.New("the name leads to an address that is not public")

// GuardOptions are exceptions from the rule that only public addresses are reached, and the resolver.
type GuardOptions struct {
	HostPorts []string       // lower-case host:port pairs that are reached whatever their address
	Prefixes  []netip.Prefix // networks that are reached on any port
	Resolver  *net.Resolver  // nil: the system's
}

// Guard decides which addresses webhooks may reach. It is safe for concurrent use.
type Guard struct {
	options GuardOptions
	public  *ssrf.Guardian
}

// NewGuard makes a guard. Without options only public addresses pass.
func NewGuard(o GuardOptions) *Guard {
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	return &Guard{options: o, public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(azureWireServer))}
}

// URLFault tells what is wrong with the form of a webhook's address; "" when nothing is. It asks no resolver.
func (g *Guard) URLFault(address string) string {
	if len(address) > URLBytesMax {
		return fmt.Sprintf("has %d bytes; the limit is %d", len(address), URLBytesMax)
	}
	u, err := url.Parse(address)
	if err != nil {
		return "is not a URL"
	}
	host := u.Hostname()
	switch {
	case u.Scheme != "https":
		return "must begin with https://"
	case strings.ContainsAny(address, " \\"):
		return "must not hold spaces or backslashes"
	case u.User != nil:
		return "must not hold a user or password"
	case strings.Contains(address, "#"):
		return "must not have a fragment"
	case host == "" || u.Opaque != "":
		return "must name a host"
	case strings.ContainsFunc(host, func(r rune) bool { return r > 127 || r <= ' ' || r == '%' }):
		return "must write its host in ASCII (an international name in its xn-- form)"
	case !isHost(host):
		return "must name a host: a domain, or an address in its usual form"
	}
	port := portOf(u)
	if port < 0 || port != httpsPort && port < openPortMin && !g.exempt(host, port) {
		return "must use port 443 or one from 1024 on"
	}
	if ip, err := netip.ParseAddr(host); err == nil && !g.exempt(host, port) && !g.passes(ip) {
		return "must be a public address"
	}
	return ""
}

// isHost tells whether a host is an address in its usual form, or a domain: labels of letters, digits, hyphens and
// underscores, of which the last is no number. Some resolvers take 2130706433, 0x7f.1 and 0177.0.0.1 for addresses.
func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	const longest, longestLabel = 253, 63
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > longestLabel || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := labels[len(labels)-1]
	digits, hex := strings.CutPrefix(last, "0x")
	number := strings.Trim(last, "0123456789") == "" || hex && strings.Trim(digits, "0123456789abcdef") == ""
	return len(host) <= longest && !number
}

// portOf is the port of an address, 443 when it names none and -1 when it is none.
func portOf(u *url.URL) int {
	if u.Port() == "" {
		if strings.HasSuffix(u.Host, ":") {
			return -1
		}
		return httpsPort
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return -1
	}
	return int(port)
}

// AddressFault resolves the host of an address whose form is in order and tells why it may not be
// reached; "" when it may. It names no address. What a name leads to can change: each dial is checked again.
func (g *Guard) AddressFault(ctx context.Context, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "is not a URL"
	}
	if g.exempt(u.Hostname(), portOf(u)) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	ips, err := g.options.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil || len(ips) == 0 {
		return "names a host that does not resolve"
	}
	blocked := func(ip netip.Addr) bool { return !g.passes(ip) }
	// One that the operator allowed is enough: localhost often leads to ::1 too, which no dial will take.
	if !slices.ContainsFunc(ips, blocked) || slices.ContainsFunc(ips, g.allowed) {
		return ""
	}
	return "must name a host with public addresses only"
}

// exempt tells whether the operator allowed this host and port by name.
func (g *Guard) exempt(host string, port int) bool {
	return slices.Contains(g.options.HostPorts, net.JoinHostPort(strings.ToLower(host), strconv.Itoa(port)))
}

// passes tells whether an address may be reached.
func (g *Guard) passes(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	if ip = ip.Unmap(); g.allowed(ip) {
		return true
	}
	network := "tcp4"
	if ip.Is6() {
		network = "tcp6"
	}
	return g.public.Safe(network, netip.AddrPortFrom(ip, httpsPort).String(), nil) == nil
}

// allowed tells whether the operator allowed the network of an address.
func (g *Guard) allowed(ip netip.Addr) bool {
	ip = ip.Unmap()
	return slices.ContainsFunc(g.options.Prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// dial connects to host:port. The address that the name leads to at this very moment is checked, so a
// name that changed since it was registered gains nothing.
func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTimeout, Resolver: g.options.Resolver}
	if !slices.Contains(g.options.HostPorts, strings.ToLower(address)) {
		d.Control = g.control
	}
	return d.DialContext(ctx, network, address)
}

func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !g.passes(to.Addr()) {
		return errBlocked
	}
	return nil
}
