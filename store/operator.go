package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Refusals of an operator's actions.
var (
	// ErrNoWorkspace: there is no such workspace, or it is gone.
	ErrNoWorkspace = errors.New("no such workspace")
	// ErrCreditLimit: the units, or the balance after them, are not within 1 to 2^53-1.
	ErrCreditLimit = errors.New("the credit and the balance after it must be 1 to 9007199254740991 units")
	// ErrCreditUsed: the adjustment's id belongs to a credit of other units.
	ErrCreditUsed = errors.New("this adjustment id was used for a credit of other units")
	// ErrNoWebhook: there is no such webhook, or its workspace is gone.
	ErrNoWebhook = errors.New("no such webhook")
	// ErrWebhookUnchanged: it is active, or disabled, already.
	ErrWebhookUnchanged = errors.New("the webhook is so already")
	// ErrWebhookLimit: the workspace has as many active webhooks as it may.
	ErrWebhookLimit = errors.New("the workspace has as many active webhooks as it may have")
)

// Credit adds units to a workspace's balance. The act's reason, of 1 to 500 characters, is seen by its owner in the
// activity log. The same adjustment credits once, so that after ErrUnknown or ErrUnavailable the call can be made again.
// A trial's credit is never refundable. Refusals: ErrNoWorkspace, ErrCreditLimit, ErrCreditUsed.
func (s *Store) Credit(ctx context.Context, act Act, workspace, adjustment uuid.UUID, units int64, refundable bool) error {
	return s.operate(ctx, "operator_credit", act, workspace, adjustment, units, refundable)
}

// Block stops a workspace's priced calls, or allows them again, from the very next one. The reason is for operators
// only. Refusal: ErrNoWorkspace.
func (s *Store) Block(ctx context.Context, act Act, workspace uuid.UUID, blocked bool) error {
	return s.operate(ctx, "operator_block", act, workspace, blocked)
}

// SetWebhook enables a webhook, whose failures are then forgotten, or disables it. activeMax is how many of a workspace
// may be active. Refusals: ErrNoWebhook, ErrWebhookUnchanged, ErrWebhookLimit.
func (s *Store) SetWebhook(ctx context.Context, act Act, workspace, webhook uuid.UUID, active bool, activeMax int) error {
	result, err := s.act(ctx, "operator_webhook", act, workspace, webhook, active, activeMax)
	if err != nil {
		return err
	}
	switch result.Code {
	case codeNotFound:
		return ErrNoWebhook
	case "CONFLICT":
		return ErrWebhookUnchanged
	case "WEBHOOK_LIMIT":
		return ErrWebhookLimit
	}
	return nil
}

// act calls a function of the operator, whose last argument is who does it and why.
func (s *Store) act(ctx context.Context, function string, act Act, workspace uuid.UUID, args ...any) (Result, error) {
	argument, err := act.argument()
	if err != nil {
		return Result{}, err
	}
	return s.Do(ctx, Call{Function: function, Workspace: workspace, Args: append(args, argument)})
}

// operate makes a call in an operator's name and turns its refusal into an error.
func (s *Store) operate(ctx context.Context, function string, act Act, workspace uuid.UUID, args ...any) error {
	result, err := s.act(ctx, function, act, workspace, args...)
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
	return fmt.Errorf("%s refused with %s", function, result.Code)
}
