package x402

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Network is a chain on which USDC deposits are taken.
type Network struct {
	// ID is the CAIP-2 name, as in eip155:8453.
	ID string
	// Name is what people call it.
	Name string
	// Asset is the address of USDC, which has 6 decimals on every network here.
	Asset string
	// DomainName and DomainVersion are the token's EIP-712 domain; empty on Solana.
	DomainName, DomainVersion string
	// Short is how a refund names it, as in base.
	Short string
}

// SolanaID is the CAIP-2 name of the only network that is not an EVM chain.
const SolanaID = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"

// networks are in the order in which a challenge offers them. Names and versions of the domains stand here and are not
// left to the SDK, which takes Avalanche's token for an unknown one with 18 decimals.
var networks = []Network{
	evmNetwork("eip155:8453", "Base", "base", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
	evmNetwork("eip155:137", "Polygon", "polygon", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
	evmNetwork("eip155:42161", "Arbitrum One", "arbitrum", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
	evmNetwork("eip155:43114", "Avalanche C-Chain", "avalanche", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
	{ID: SolanaID, Name: "Solana", Short: "solana", Asset: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
}

func evmNetwork(id, name, short, asset string) Network {
	return Network{ID: id, Name: name, Short: short, Asset: asset, DomainName: "USD Coin", DomainVersion: "2"}
}

// Networks are the five that deposits know, in the order in which they are offered.
func Networks() []Network { return append([]Network(nil), networks...) }

// NetworkOf finds a network by its CAIP-2 name.
func NetworkOf(id string) (Network, bool) {
	for _, n := range networks {
		if n.ID == id {
			return n, true
		}
	}
	return Network{}, false
}

// IsSolana tells the families apart: everything else here is an EVM chain.
func (n Network) IsSolana() bool { return n.ID == SolanaID }

var evmAddress = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// same compares two addresses of the network: hex has no case, base58 has.
func (n Network) same(a, b string) bool {
	if n.IsSolana() {
		return a == b
	}
	return strings.EqualFold(a, b)
}

// checkReceiver refuses receiving addresses from which the operator would never see the money.
func (n Network) checkReceiver(address string) error {
	if n.IsSolana() {
		key, ok := decodeBase58(address)
		switch {
		case !ok || len(key) != solanaKeySize:
			return errors.New("not a Solana address")
		case address == n.Asset || solanaKey(key) == tokenProgram || solanaKey(key) == (solanaKey{}):
			return errors.New("this is a program or the token itself, not a wallet")
		}
		return nil
	}
	switch {
	case !evmAddress.MatchString(address):
		return errors.New("not an address like 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
	case strings.EqualFold(address, n.Asset):
		return errors.New("this is the token itself, not a wallet")
	case strings.Trim(address[2:], "0") == "":
		return errors.New("this is the zero address")
	}
	return nil
}

// checkPayTo reads the configured receivers; an error names each wrong one.
func checkPayTo(payTo map[string]string) error {
	var faults []error
	for id, address := range payTo {
		n, known := NetworkOf(id)
		if !known {
			faults = append(faults, fmt.Errorf("receiving address for %q: not a network that deposits know", id))
			continue
		}
		if err := n.checkReceiver(address); err != nil {
			faults = append(faults, fmt.Errorf("receiving address on %s (%s): %w", n.Name, id, err))
		}
	}
	return errors.Join(faults...)
}
