package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Refusals of the operator's commands.
var (
	// ErrNoWorkspace: there is no such workspace, or it is gone.
	ErrNoWorkspace = errors.New("no such workspace")
	// ErrCreditLimit: the units, or the balance after them, are not within 1 to 2^53-1.
	ErrCreditLimit = errors.New("the credit and the balance after it must be 1 to 9007199254740991 units")
	// ErrCreditUsed: the adjustment's id belongs to a credit of other units.
	ErrCreditUsed = errors.New("this adjustment id was used for a credit of other units")
)

// Credit adds units to a workspace's balance with a reason of 1 to 500 characters, which its owner
// sees in the activity log. The same adjustment credits once, so that after ErrUnknown or
// ErrUnavailable the call can be made again. A trial's credit is never refundable.
// Refusals: ErrNoWorkspace, ErrCreditLimit, ErrCreditUsed.
func (s *Store) Credit(ctx context.Context, workspace, adjustment uuid.UUID, units int64, refundable bool, reason string) error {
	return s.operate(ctx, Call{Function: "credit_workspace", Workspace: workspace, Args: []any{adjustment, units, refundable, reason}})
}

// Block stops a workspace's priced calls, or allows them again, from the very next one. The reason is
// for the operator and is forgotten when the block ends. Refusal: ErrNoWorkspace.
func (s *Store) Block(ctx context.Context, workspace uuid.UUID, blocked bool, reason string) error {
	return s.operate(ctx, Call{Function: "block_workspace", Workspace: workspace, Args: []any{blocked, reason}})
}

// operate makes a call in the operator's name and turns its refusal into an error.
func (s *Store) operate(ctx context.Context, c Call) error {
	result, err := s.Do(ctx, c)
	if err != nil {
		return err
	}
	switch result.Code {
	case "":
		return nil
	case codeNotFound:
		return ErrNoWorkspace
	case "CREDIT_LIMIT":
		return ErrCreditLimit
	case "CONFLICT":
		return ErrCreditUsed
	}
	return fmt.Errorf("%s refused with %s", c.Function, result.Code)
}
