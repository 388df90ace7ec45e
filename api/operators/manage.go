package operators

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/store"
)

// nameMax is how many characters an operator's name may have.
const nameMax = 100

// NewOperator is what creating an operator needs.
type NewOperator struct {
	Email, Name, Password string
	Role                  store.Role
}

// Create adds an operator. Errors: *InputError, store.ErrOperatorExists, ErrBusy.
func (s *Service) Create(ctx context.Context, act store.Act, n NewOperator) (store.Operator, error) {
	n.Email = strings.TrimSpace(n.Email)
	if fault := emailFault(n.Email); fault != "" {
		return store.Operator{}, &InputError{"email", fault}
	}
	if fault := api.TextFault(n.Name, 0, nameMax, false); fault != "" {
		return store.Operator{}, &InputError{"name", fault}
	}
	if !n.Role.Includes(store.RoleViewer) {
		return store.Operator{}, &InputError{"role", "must be viewer, operator or admin"}
	}
	hash, err := s.hashNew(ctx, n.Password)
	if err != nil {
		return store.Operator{}, err
	}
	o := store.Operator{ID: uuid.Must(uuid.NewV7()), Email: n.Email, Name: n.Name, Role: n.Role, PasswordHash: hash}
	return o, s.store.CreateOperator(ctx, act, o)
}

// SetRole gives an operator another role. Errors: *InputError, store.ErrNoOperator, store.ErrLastAdmin.
func (s *Service) SetRole(ctx context.Context, act store.Act, id uuid.UUID, role store.Role) error {
	if !role.Includes(store.RoleViewer) {
		return &InputError{"role", "must be viewer, operator or admin"}
	}
	return s.store.SetOperatorRole(ctx, act, id, role)
}

// Disable ends an operator's sessions and lets him log in no more. Errors: store.ErrNoOperator, store.ErrLastAdmin.
func (s *Service) Disable(ctx context.Context, act store.Act, id uuid.UUID) error {
	return s.store.DisableOperator(ctx, act, id, s.now())
}

// Enable lets a disabled operator log in again. Error: store.ErrNoOperator.
func (s *Service) Enable(ctx context.Context, act store.Act, id uuid.UUID) error {
	return s.store.EnableOperator(ctx, act, id)
}

// SetPassword replaces an operator's password and ends all his sessions. Errors: *InputError, store.ErrNoOperator, ErrBusy.
func (s *Service) SetPassword(ctx context.Context, act store.Act, id uuid.UUID, password string) error {
	hash, err := s.hashNew(ctx, password)
	if err != nil {
		return err
	}
	return s.store.SetOperatorPassword(ctx, act, id, hash)
}

// ChangePassword replaces an operator's own password, which he has to know, and ends his sessions but the one of the
// token. Errors: *InputError, *TooManyError, ErrWrongLogin, ErrBusy.
func (s *Service) ChangePassword(ctx context.Context, act store.Act, o store.Operator, token, old, password string) error {
	undo, err := s.take(ctx, []store.LoginLimit{limit(failuresPerPerson, "person", o.ID[:])}, s.now())
	if err != nil {
		return err
	}
	same, err := s.ours.matches(ctx, old, o.PasswordHash)
	if err != nil || same {
		err = errors.Join(err, undo())
	}
	switch {
	case err != nil:
		return err
	case !same:
		return ErrWrongLogin
	}
	hash, err := s.hashNew(ctx, password)
	if err != nil {
		return err
	}
	keep := hashOf(token)
	err = s.store.ChangeOwnPassword(ctx, act, o.ID, o.PasswordHash, hash, keep[:])
	if errors.Is(err, store.ErrPasswordChanged) {
		return ErrWrongLogin
	}
	return err
}

func (s *Service) hashNew(ctx context.Context, password string) (string, error) {
	if fault := PasswordFault(password); fault != "" {
		return "", &InputError{"password", fault}
	}
	return s.ours.hash(ctx, password)
}

// emailFault says what is wrong with an email address; empty: nothing.
func emailFault(email string) string {
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > emailMax || utf8.RuneCountInString(email) != len(email) {
		return "must be an email address in plain characters"
	}
	return ""
}
