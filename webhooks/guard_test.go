package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

func TestAddressesThatAreRefused(t *testing.T) {
	g := NewGuard(GuardOptions{})
	for _, ip := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "172.16.0.1", "192.0.0.192",
		"192.168.1.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "fe80::1", "fec0::1", "fc00::1", "ff02::1",
		"2001::1", "2002:7f00:1::", "2001:db8::1", "3fff::1", "5f00::1",
	} {
		if g.passes(netip.MustParseAddr(ip)) {
			t.Errorf("%s passes", ip)
		}
		host := ip
		if strings.Contains(ip, ":") {
			host = "[" + ip + "]"
		}
		if g.URLFault("https://"+host+"/") == "" {
			t.Errorf("https://%s/ is accepted", host)
		}
	}
	if g.passes(netip.MustParseAddr("fe80::1%lo")) {
		t.Error("a zone passes")
	}
	for _, ip := range []string{"1.1.1.1", "93.184.216.34", "2606:4700:4700::1111"} {
		if !g.passes(netip.MustParseAddr(ip)) {
			t.Errorf("%s is refused", ip)
		}
	}
}

func TestURLs(t *testing.T) {
	g := NewGuard(GuardOptions{HostPorts: []string{"receiver.local:99"}, Prefixes: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for url, want := range map[string]string{
		"https://example.com":                               "",
		"https://example.com:443/a?b=c":                     "",
		"https://example.com:1024/":                         "",
		"https://EXAMPLE.com/ü":                             "",
		"https://[2606:4700::1111]/":                        "",
		"https://10.1.2.3/":                                 "",
		"https://receiver.local:99/":                        "",
		"https://receiver.local:98/":                        "must use port",
		"http://example.com/":                               "must begin with https",
		"HTTPS://example.com/":                              "",
		"ftp://example.com/":                                "must begin with https",
		"//example.com/":                                    "must begin with https",
		"example.com":                                       "must begin with https",
		"":                                                  "must begin with https",
		"https:example.com":                                 "must name a host",
		"https:///path":                                     "must name a host",
		"https://:443/":                                     "must name a host",
		"https://u@example.com/":                            "must not hold a user",
		"https://u:p@example.com/":                          "must not hold a user",
		"https://example.com/#f":                            "must not have a fragment",
		"https://example.com/#":                             "must not have a fragment",
		"https://example.com:80/":                           "must use port",
		"https://example.com:0/":                            "must use port",
		"https://example.com:65536/":                        "must use port",
		"https://example.com:/":                             "must use port",
		"https://example.com:x/":                            "is not a URL",
		"https://exa mple.com/":                             "is not a URL",
		"https://example.com/a b":                           "must not hold spaces",
		`https://example.com\@10.0.0.1/`:                    "is not a URL",
		"https://example.com/\n":                            "is not a URL",
		"https://example.com/\x00":                          "is not a URL",
		"https://münchen.example/":                          "must write its host in ASCII",
		"https://[fe80::1%25lo]/":                           "must write its host in ASCII",
		"https://10.0.0.1/":                                 "must be a public address",
		"https://[::ffff:10.0.0.1]/":                        "must be a public address",
		"https://0X7F000001/":                               "must name a host",
		"https://2130706433/":                               "must name a host",
		"https://16843009/":                                 "must name a host",
		"https://0x7f.1/":                                   "must name a host",
		"https://0177.0.0.1/":                               "must name a host",
		"https://127.1/":                                    "must name a host",
		"https://127.0.0.1./":                               "must name a host",
		"https://1.1.1.256/":                                "must name a host",
		"https://example.com.0x0/":                          "must name a host",
		"https://example..com/":                             "must name a host",
		"https://.example.com/":                             "must name a host",
		"https://example.com../":                            "must name a host",
		"https://*.example.com/":                            "must name a host",
		"https://a,b.example/":                              "must name a host",
		"https://<script>/":                                 "must name a host",
		"https://" + strings.Repeat("a", 64) + ".example/":  "must name a host",
		"https://" + strings.Repeat("a.", 127) + "example/": "must name a host",
		"https://example.com./":                             "",
		"https://ex_ample.xn--p1ai/":                        "",
		"https://1.2.3.4.example/":                          "",
		"https://example.com:0443/":                         "",
		"https://[::ffff:7f00:1]/":                          "must be a public address",
		"https://example.com/" + strings.Repeat("a", 2029):  "has 2049 bytes",
		"https://example.com/" + strings.Repeat("a", 2028):  "",
	} {
		if got := g.URLFault(url); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func FuzzURLFault(f *testing.F) {
	f.Add("https://example.com:443/a?b#c")
	f.Add("https://[::1%25lo]:1/")
	g := NewGuard(GuardOptions{})
	f.Fuzz(func(t *testing.T, url string) {
		if g.URLFault(url) != "" {
			return
		}
		r, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil || r.URL.Scheme != "https" || r.URL.User != nil || r.URL.Host == "" {
			t.Errorf("%q was accepted: %v", url, err)
		}
	})
}

// names is a resolver whose answers the test sets: host to addresses, separated by blanks.
func names(t *testing.T, address func(host string) string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			all := strings.Fields(address(strings.TrimSuffix(q.Name.String(), ".")))
			if len(all) == 0 {
				m.RCode = dnsmessage.RCodeNameError
			}
			for _, text := range all {
				ip, header := netip.MustParseAddr(text), dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
				switch {
				case ip.Is4() && q.Type == dnsmessage.TypeA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
				case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
					m.Answers = append(m.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
				}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestNamesAreResolvedAtRegistrationAndAgainAtEachDial(t *testing.T) {
	var to atomic.Value
	to.Store("93.184.216.34")
	options := GuardOptions{Resolver: names(t, func(host string) string {
		if host == "rebind.test" {
			return to.Load().(string)
		}
		return ""
	})}
	g := NewGuard(options)
	if fault := g.AddressFault(t.Context(), "https://rebind.test/"); fault != "" {
		t.Errorf("a public name: %q", fault)
	}
	if fault := g.AddressFault(t.Context(), "https://none.test/"); !strings.Contains(fault, "does not resolve") {
		t.Errorf("an unknown name: %q", fault)
	}
	to.Store("127.0.0.1")
	if fault := g.AddressFault(t.Context(), "https://rebind.test/"); !strings.Contains(fault, "public") || strings.Contains(fault, "127") {
		t.Errorf("a private name: %q", fault)
	}

	var connections atomic.Int32
	roots := x509.NewCertPool()
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t, roots, time.Now().Add(time.Hour), "127.0.0.1")}}
	address := listen(t, config, func(c net.Conn) {
		connections.Add(1)
		says("HTTP/1.1 204 No Content\r\n\r\n")(c)
	})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"https://rebind.test:" + port, "https://" + address, "https://[::ffff:127.0.0.1]:" + port} {
		got := newSender(g, roots, patience).send(t.Context(), url, http.Header{}, nil)
		if got.status != 0 || !strings.HasPrefix(got.fault, "blocked") {
			t.Errorf("%s: %+v", url, got)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made to a refused address", n)
	}
	if got := newSender(g, roots, patience).send(t.Context(), "https://none.test/", http.Header{}, nil); got.fault != "the host does not resolve" {
		t.Errorf("an unknown name: %+v", got)
	}
	// A name that leads to several addresses: one private one is too many, unless the operator allowed one of them.
	several := GuardOptions{Resolver: names(t, func(string) string { return "93.184.216.34 127.0.0.1 ::1" })}
	if fault := NewGuard(several).AddressFault(t.Context(), "https://several.test/"); !strings.Contains(fault, "public") {
		t.Errorf("one of several addresses is private: %q", fault)
	}
	several = GuardOptions{Resolver: names(t, func(string) string { return "::1 127.0.0.1" }), Prefixes: loopback().Prefixes}
	if fault := NewGuard(several).AddressFault(t.Context(), "https://several.test/"); fault != "" {
		t.Errorf("the operator allowed one of two: %q", fault)
	}
	if got := newSender(NewGuard(several), roots, patience).send(t.Context(), "https://several.test:"+port, http.Header{}, nil); got.fault != "the certificate is not valid" {
		t.Errorf("the allowed one is not the one that is reached: %+v", got)
	}
	options.HostPorts = []string{"rebind.test:" + port}
	if got := newSender(NewGuard(options), roots, patience).send(t.Context(), "https://rebind.test:"+port, http.Header{}, nil); !got.ok() {
		t.Errorf("the operator's exception: %+v", got)
	}
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	roots := x509.NewCertPool()
	config := &tls.Config{Certificates: []tls.Certificate{certificate(t, roots, time.Now().Add(time.Hour), "127.0.0.1")}}
	s := newSender(NewGuard(loopback()), roots, patience)
	if got := s.send(t.Context(), "https://"+listen(t, config, says("HTTP/1.1 204 No Content\r\n\r\n")), http.Header{}, nil); !got.ok() {
		t.Errorf("%+v", got)
	}
	if s.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestReasonsNameNoAddress(t *testing.T) {
	if got := reason(&net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, Err: errors.New("odd at 10.0.0.1")}); strings.Contains(got, "10.") {
		t.Errorf("reason %q", got)
	}
}
