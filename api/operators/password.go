package operators

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
)

// Bounds of a password, in code points.
const (
	PasswordMin = 12
	PasswordMax = 200
)

// hashing costs some 50 ms of one core and 19 MiB (OWASP's least for argon2id).
var hashing = &argon2id.Params{Memory: 19456, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const (
	hashesAtATime = 2
	hashesWaiting = 16              // beyond that they are refused at once
	hashPatience  = 5 * time.Second // how long one waits for its turn
)

// PasswordFault says what is wrong with a new password; empty: nothing.
func PasswordFault(password string) string {
	if n := utf8.RuneCountInString(password); !utf8.ValidString(password) || n < PasswordMin || n > PasswordMax {
		return fmt.Sprintf("a password has %d to %d characters", PasswordMin, PasswordMax)
	}
	return ""
}

// kiln lets few hashes be made at a time, whoever asks: their memory and CPU are the service's.
type kiln struct {
	turns   chan struct{}
	waiting chan struct{}
}

func newKiln() kiln {
	return kiln{turns: make(chan struct{}, hashesAtATime), waiting: make(chan struct{}, hashesAtATime+hashesWaiting)}
}

// do runs work when it is its turn. ErrBusy: too many wait.
func (k kiln) do(ctx context.Context, work func() error) error {
	select {
	case k.waiting <- struct{}{}:
		defer func() { <-k.waiting }()
	default:
		return ErrBusy
	}
	late := time.NewTimer(hashPatience)
	defer late.Stop()
	select {
	case k.turns <- struct{}{}:
		defer func() { <-k.turns }()
		return work()
	case <-late.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k kiln) hash(ctx context.Context, password string) (hash string, err error) {
	err = k.do(ctx, func() (err error) {
		hash, err = argon2id.CreateHash(password, hashing)
		return err
	})
	return hash, err
}

// nobody is compared with when there is no such account, so that its answer takes as long.
const nobody = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func (k kiln) matches(ctx context.Context, password, hash string) (same bool, err error) {
	if hash == "" {
		hash = nobody
	}
	err = k.do(ctx, func() (err error) {
		same, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return same && hash != nobody, err
}
