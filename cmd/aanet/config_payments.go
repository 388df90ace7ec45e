package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// parseJSON decodes strictly (no unknown or repeated names, nothing after the value). Its errors say where the fault
// is and never what stands there, which may be a secret.
func parseJSON(text []byte, into any) error {
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON at byte %d", syntax.ByteOffset)
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("%s is not known", semantic.JSONPointer)
	case errors.As(err, &semantic):
		if fault, ours := errors.AsType[valueFault](err); ours {
			return fmt.Errorf("%s %w", semantic.JSONPointer, fault)
		}
		return fmt.Errorf("%s has the wrong type", cmp.Or(string(semantic.JSONPointer), "it"))
	}
	return errors.New("not the JSON that is expected")
}

// Facilitator is one x402 service that verifies and settles payments.
type Facilitator struct {
	// Name identifies it in logs and metrics; unique in the list.
	Name string `json:"name"`
	// URL is https, or http to loopback.
	URL string `json:"url"`
	// Auth is none, bearer (KeySecret), cdp or payai (both KeyID and KeySecret).
	Auth      string `json:"auth"`
	KeyID     string `json:"key_id"`
	KeySecret Secret `json:"key_secret"`
	// Networks are the CAIP-2 networks it is used for; empty means all that it supports.
	Networks []string `json:"networks"`
	// Timeout bounds one request to it; 90 s unless given.
	Timeout Duration `json:"timeout"`
}

const defaultFacilitatorTimeout = Duration(90 * time.Second)

// Facilitators is the list in order of preference.
type Facilitators []Facilitator

// UnmarshalText accepts a JSON list of objects.
func (f *Facilitators) UnmarshalText(text []byte) error {
	type list []Facilitator
	var parsed list
	if err := parseJSON(text, &parsed); err != nil {
		return fmt.Errorf("must be a JSON list of facilitators: %w", err)
	}
	names := map[string]bool{}
	for i := range parsed {
		if parsed[i].Timeout == 0 {
			parsed[i].Timeout = defaultFacilitatorTimeout
		}
		if parsed[i].Auth == "" {
			parsed[i].Auth = "none"
		}
		if err := parsed[i].check(); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if names[parsed[i].Name] {
			return fmt.Errorf("entry %d: the name %q is used twice", i+1, parsed[i].Name)
		}
		names[parsed[i].Name] = true
	}
	*f = Facilitators(parsed)
	return nil
}

func (f Facilitator) check() error {
	if f.Name == "" {
		return errors.New("name is missing")
	}
	u, err := parseHTTPURL(f.URL)
	if err != nil {
		return fmt.Errorf("url %w", err)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return errors.New("url must be https (http is for loopback only)")
	}
	if !slices.Contains([]string{"none", "bearer", "cdp", "payai"}, f.Auth) {
		return errors.New("auth must be none, bearer, cdp or payai")
	}
	if f.Auth != "none" && f.KeySecret.IsZero() {
		return fmt.Errorf("auth %s needs key_secret", f.Auth)
	}
	if (f.Auth == "cdp" || f.Auth == "payai") && f.KeyID == "" {
		return fmt.Errorf("auth %s needs key_id", f.Auth)
	}
	for _, network := range f.Networks {
		if err := checkNetwork(network); err != nil {
			return err
		}
	}
	return nil
}

var caip2 = regexp.MustCompile(`^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$`)

// checkNetwork accepts a CAIP-2 name of the two families that deposits know.
func checkNetwork(network string) error {
	family, _, _ := strings.Cut(network, ":")
	if !caip2.MatchString(network) || (family != "eip155" && family != "solana") {
		return fmt.Errorf("%q is not a CAIP-2 network like eip155:8453 or solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", network)
	}
	return nil
}

// PayTo maps a CAIP-2 network to the address that receives its deposits.
type PayTo map[string]string

var (
	evmAddress    = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)
	solanaAddress = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)
)

// UnmarshalText accepts a JSON object of network to address; each address must have its network's form.
func (p *PayTo) UnmarshalText(text []byte) error {
	var parsed map[string]string
	if err := parseJSON(text, &parsed); err != nil {
		return fmt.Errorf("must be a JSON object of network to address: %w", err)
	}
	for _, network := range slices.Sorted(maps.Keys(parsed)) {
		if err := checkAddress(network, parsed[network]); err != nil {
			return err
		}
	}
	*p = parsed
	return nil
}

// checkAddress tells whether an address has the form of its network.
func checkAddress(network, address string) error {
	if err := checkNetwork(network); err != nil {
		return err
	}
	form := evmAddress
	if strings.HasPrefix(network, "solana:") {
		form = solanaAddress
	}
	if !form.MatchString(address) {
		return fmt.Errorf("%s: not an address of this network", network)
	}
	return nil
}

// PayoutFrom maps a CAIP-2 network to the wallets that its refunds are paid from.
type PayoutFrom map[string][]string

// UnmarshalText accepts a JSON object of network to a list of addresses; each must have its network's form.
func (p *PayoutFrom) UnmarshalText(text []byte) error {
	var parsed map[string][]string
	if err := parseJSON(text, &parsed); err != nil {
		return fmt.Errorf("must be a JSON object of network to a list of addresses: %w", err)
	}
	for _, network := range slices.Sorted(maps.Keys(parsed)) {
		for _, address := range parsed[network] {
			if err := checkAddress(network, address); err != nil {
				return err
			}
		}
	}
	*p = parsed
	return nil
}

// RPCURLs maps a CAIP-2 network to its JSON-RPC URL, which hides itself since it often holds a key.
type RPCURLs map[string]Secret

// UnmarshalText accepts a JSON object of network to absolute http or https URL.
func (r *RPCURLs) UnmarshalText(text []byte) error {
	var parsed map[string]Secret
	if err := parseJSON(text, &parsed); err != nil {
		return fmt.Errorf("must be a JSON object of network to URL: %w", err)
	}
	for _, network := range slices.Sorted(maps.Keys(parsed)) {
		if err := checkNetwork(network); err != nil {
			return err
		}
		u, err := url.Parse(parsed[network].Reveal())
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			return fmt.Errorf("%s: must be an absolute http or https URL", network)
		}
	}
	*r = parsed
	return nil
}

// RefundFees are what is kept of a refund, in dollars with at most five decimals ("0.02").
type RefundFees struct {
	Base   string `json:"base"`
	Solana string `json:"solana"`
}

var feeUSD = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,5})?$`)

// UnmarshalText accepts a JSON object with base, solana or both; one left out keeps its default.
func (r *RefundFees) UnmarshalText(text []byte) error {
	type members RefundFees
	parsed := members{Base: "0.02", Solana: "0.01"}
	if err := parseJSON(text, &parsed); err != nil {
		return fmt.Errorf(`must be a JSON object like {"base":"0.02","solana":"0.01"}: %w`, err)
	}
	if !feeUSD.MatchString(parsed.Base) || !feeUSD.MatchString(parsed.Solana) {
		return errors.New("fees must be decimal strings in dollars with at most 5 decimals")
	}
	*r = RefundFees(parsed)
	return nil
}
