package operators

import (
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"

	"aanet/api/buckets"
)

// How many logins may fail, each refilled evenly over a quarter of an hour, in each process. A login that succeeds
// counts nowhere.
const (
	failuresPerPair    = 5  // of one account from one address
	failuresPerAddress = 20 // of all accounts from one address
	failuresPerAccount = 50 // of one account from everywhere it has never logged in from
	failuresPerDevice  = 10 // of one account in a browser that it has logged in with

	quarter = 15 * time.Minute
)

// account names an account by what was typed, whether it exists or not.
type account [32]byte

func accountOf(email string) account { return sha256.Sum256([]byte(strings.ToLower(email))) }

type pair struct {
	account account
	network netip.Prefix
}

type device struct {
	account account
	hash    [32]byte
}

// limits count failed logins so that nobody can guess for long, and nobody can lock the real operator out: in a browser
// that an account has logged in with only that browser's own failures count, and from a network that it has logged in
// from those of strangers do not.
type limits struct {
	pairs     *buckets.Buckets[pair]
	addresses *buckets.Buckets[netip.Prefix]
	accounts  *buckets.Buckets[account]
	devices   *buckets.Buckets[device]
}

func newLimits() *limits {
	perQuarter := func(n int) float64 { return float64(n) / quarter.Seconds() }
	return &limits{
		pairs:     buckets.New[pair](perQuarter(failuresPerPair), failuresPerPair),
		addresses: buckets.New[netip.Prefix](perQuarter(failuresPerAddress), failuresPerAddress),
		accounts:  buckets.New[account](perQuarter(failuresPerAccount), failuresPerAccount),
		devices:   buckets.New[device](perQuarter(failuresPerDevice), failuresPerDevice),
	}
}

// known is what of an attempt the account has logged in with before.
type known struct{ device, place bool }

// take counts an attempt as failed in advance. undo takes that back; a wait above zero means that it is refused.
func (l *limits) take(who account, from netip.Prefix, deviceHash [32]byte, k known, now time.Time) (wait time.Duration, undo func()) {
	if k.device {
		return l.devices.Take(device{who, deviceHash}, 1, now)
	}
	wait, undoAddress := l.addresses.Take(from, 1, now)
	if wait > 0 {
		return wait, undoAddress
	}
	wait, undoPair := l.pairs.Take(pair{who, from}, 1, now)
	if wait > 0 {
		undoAddress()
		return wait, undoPair
	}
	both := func() { undoAddress(); undoPair() }
	if k.place {
		return 0, both
	}
	wait, undoAccount := l.accounts.Take(who, 1, now)
	if wait > 0 {
		both()
		return wait, func() {}
	}
	return 0, func() { both(); undoAccount() }
}
