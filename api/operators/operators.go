// Package operators is how the people who run the service prove who they are, and what each of them may do. The
// dashboard and the command line go through it; what an action does is in package store, in one transaction with its
// audit row.
package operators

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"aanet/api/buckets"
	"aanet/store"
)

// How long a session lasts, and how long a browser or a network counts as known.
const (
	SessionIdle     = 30 * time.Minute
	SessionLife     = 12 * time.Hour
	FamiliarFor     = 180 * 24 * time.Hour
	tokenBytes      = 32
	emailMax        = 254
	attemptEmailMax = 320 // of what is typed; longer is nobody's
)

var (
	// ErrWrongLogin: no such account, a wrong password, or a disabled account; which one is not told.
	ErrWrongLogin = errors.New("the email address or the password is wrong")
	// ErrBusy: too many logins are being checked.
	ErrBusy = errors.New("too many logins are being checked")
	// ErrForbidden: the operator's role does not allow it.
	ErrForbidden = errors.New("your role does not allow this")
)

// TooManyError refuses a login attempt before the password is looked at.
type TooManyError struct{ RetryAfter time.Duration }

func (e *TooManyError) Error() string { return "too many logins have failed" }

// InputError says what is wrong with what an operator typed, in words for him.
type InputError struct{ Field, Fault string }

func (e *InputError) Error() string { return e.Field + ": " + e.Fault }

// Service logs operators in and manages them. It may be used by several goroutines.
type Service struct {
	store     *store.Store
	now       func() time.Time
	strangers kiln // for logins from anywhere
	ours      kiln // for who is logged in, or was: however many strangers try, these wait for none of them
}

// New makes the service. now is the clock of sessions and limits.
func New(s *store.Store, now func() time.Time) *Service {
	return &Service{store: s, now: now, strangers: newKiln(), ours: newKiln()}
}

// Attempt is what somebody sends who wants to log in.
type Attempt struct {
	Email, Password string
	Address         netip.Addr
	Device          string // the browser's cookie of an earlier login; empty: it has none
}

// Ticket is what a browser gets after a login.
type Ticket struct {
	Token     string // of the session: a secret that nothing else has
	Device    string // to be shown at the next login
	ExpiresAt time.Time
	Operator  store.Operator
}

// Login opens a session. Errors: ErrWrongLogin, *TooManyError, ErrBusy, or the database's.
func (s *Service) Login(ctx context.Context, a Attempt) (Ticket, error) {
	now, email, network := s.now(), strings.TrimSpace(a.Email), buckets.Network(a.Address)
	if len(email) > attemptEmailMax {
		email = ""
	}
	o, err := s.find(ctx, email)
	if err != nil {
		return Ticket{}, err
	}
	deviceHash := hashOf(a.Device)
	var k known
	if k.device, k.place, err = s.store.Familiar(ctx, o.ID, deviceHash[:], network.String(), now.Add(-FamiliarFor)); err != nil {
		return Ticket{}, err
	}
	undo, err := s.take(ctx, limitsOf(accountOf(email), network, deviceHash, k), now)
	if err != nil {
		return Ticket{}, err
	}
	kiln := s.strangers
	if k.device || k.place {
		kiln = s.ours
	}
	same, err := kiln.matches(ctx, a.Password, o.PasswordHash)
	if err == nil && (!same || o.DisabledAt != nil || o.ID == uuid.Nil) {
		return Ticket{}, ErrWrongLogin
	}
	if err = errors.Join(err, undo()); err != nil {
		return Ticket{}, err
	}
	device := a.Device
	if !k.device {
		device = newToken()
	}
	return s.open(ctx, o, a.Address, network, device, now)
}

// find gives the zero Operator when there is none of this address.
func (s *Service) find(ctx context.Context, email string) (store.Operator, error) {
	if strings.ContainsRune(email, 0) || strings.ToValidUTF8(email, "") != email {
		email = ""
	}
	o, err := s.store.OperatorByEmail(ctx, email)
	if errors.Is(err, store.ErrNoOperator) {
		return store.Operator{}, nil
	}
	return o, err
}

func (s *Service) open(ctx context.Context, o store.Operator, from netip.Addr, network netip.Prefix, device string, now time.Time) (Ticket, error) {
	t := Ticket{Token: newToken(), Device: device, ExpiresAt: now.Add(SessionLife), Operator: o}
	tokenHash, deviceHash := hashOf(t.Token), hashOf(device)
	err := s.store.OpenSession(ctx, ActOf(o, from, ""), store.Login{
		Session:    store.Session{TokenHash: tokenHash[:], ExpiresAt: t.ExpiresAt, Address: from.String(), Operator: o},
		DeviceHash: deviceHash[:], Network: network.String(),
	}, now, SessionIdle)
	if errors.Is(err, store.ErrPasswordChanged) {
		return Ticket{}, ErrWrongLogin
	}
	if err != nil {
		return Ticket{}, fmt.Errorf("open a session: %w", err)
	}
	return t, nil
}

// Session finds the session of a browser's token; store.ErrNoSession: it has none. touched tells that the operator
// himself does something, which keeps the session from going idle; a page that refreshes itself does not.
func (s *Service) Session(ctx context.Context, token string, touched bool) (store.Session, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return store.Session{}, store.ErrNoSession
	}
	hash, now := hashOf(token), s.now()
	n, err := s.store.SessionOf(ctx, hash[:], now, SessionIdle)
	if err == nil && touched {
		err = s.store.TouchSession(ctx, n, now)
	}
	return n, err
}

// Sessions lists the living sessions of an operator.
func (s *Service) Sessions(ctx context.Context, operator uuid.UUID) ([]store.Session, error) {
	return s.store.SessionsOf(ctx, operator, s.now(), SessionIdle)
}

// Logout ends the session of a token.
func (s *Service) Logout(ctx context.Context, token string) error {
	hash := hashOf(token)
	return s.store.EndSession(ctx, hash[:])
}

// LogoutEverywhere ends all sessions of an operator.
func (s *Service) LogoutEverywhere(ctx context.Context, act store.Act, operator uuid.UUID) error {
	return s.store.EndSessions(ctx, act, operator)
}

// FormToken is what every form of a session carries, so that no other site's form is taken for one of ours. It cannot
// be had from anything that the database holds.
func FormToken(sessionToken string) string {
	mac := hmac.New(sha256.New, []byte(sessionToken))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsFormToken compares in constant time.
func IsFormToken(sessionToken, given string) bool {
	return hmac.Equal([]byte(FormToken(sessionToken)), []byte(given))
}

// ActOf is an act of an operator in the dashboard.
func ActOf(o store.Operator, from netip.Addr, reason string) store.Act {
	id := o.ID
	return store.Act{By: o.Email, Operator: &id, Reason: reason, Address: from.String()}
}

func newToken() string {
	var raw [tokenBytes]byte
	_, _ = rand.Read(raw[:]) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

func hashOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }
