package operators

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"

	"aanet/store"
)

// How many logins may fail, each refilled evenly over a quarter of an hour (store.LoginRefill), in all processes together.
// A login that succeeds counts nowhere.
const (
	failuresPerPair    = 5  // of one account from one address
	failuresPerAddress = 20 // of all accounts from one address
	failuresPerAccount = 50 // of one account from everywhere it has never logged in from
	failuresPerDevice  = 10 // of one account in a browser that it has logged in with
	failuresPerPerson  = 10 // of the old password, when an operator changes his own
)

// account names an account by what was typed, whether it exists or not.
type account [32]byte

func accountOf(email string) account { return sha256.Sum256([]byte(strings.ToLower(email))) }

// known is what of an attempt the account has logged in with before.
type known struct{ device, place bool }

// limitsOf are those that an attempt counts against. Nobody can guess for long, and nobody can lock the real operator out:
// in a browser that an account has logged in with only that browser's own failures count, and from a network that it has
// logged in from those of strangers do not.
func limitsOf(who account, from netip.Prefix, device [32]byte, k known) []store.LoginLimit {
	if k.device {
		return []store.LoginLimit{limit(failuresPerDevice, "device", who[:], device[:])}
	}
	network := []byte(from.String())
	all := []store.LoginLimit{limit(failuresPerAddress, "address", network), limit(failuresPerPair, "pair", who[:], network)}
	if !k.place {
		all = append(all, limit(failuresPerAccount, "account", who[:]))
	}
	return all
}

// limit is one of so many failures of what the parts name. Only the last part's length varies.
func limit(most int, kind string, parts ...[]byte) store.LoginLimit {
	h := sha256.New()
	h.Write([]byte(kind + " "))
	for _, p := range parts {
		h.Write(p)
	}
	return store.LoginLimit{Bucket: [32]byte(h.Sum(nil)), Most: most}
}

// take counts an attempt as failed in advance; undo takes that back, also when its visitor has gone. Error: *TooManyError.
func (s *Service) take(ctx context.Context, limits []store.LoginLimit, now time.Time) (undo func() error, err error) {
	wait, err := s.store.TakeLogin(ctx, limits, now)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		return nil, &TooManyError{wait}
	}
	return func() error { return s.store.ReturnLogin(context.WithoutCancel(ctx), limits) }, nil
}
