package admin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aanet/api"
	"aanet/api/operators"
	"aanet/api/web"
	"aanet/billing"
	"aanet/store"

	"github.com/google/uuid"
)

// workspacesPath is where the pages of workspaces are; workspacePath is that of one.
const workspacesPath = Root + "/workspaces"

func workspacePath(id uuid.UUID) string { return workspacesPath + "/" + id.String() }

func (d *door) workspaceActRoutes() []route {
	return []route{
		{"GET " + workspacesPath + "/{id}/block", store.RoleOperator, d.askBlock(true)},
		{"POST " + workspacesPath + "/{id}/block", store.RoleOperator, d.block(true)},
		{"GET " + workspacesPath + "/{id}/unblock", store.RoleOperator, d.askBlock(false)},
		{"POST " + workspacesPath + "/{id}/unblock", store.RoleOperator, d.block(false)},
		{"GET " + workspacesPath + "/{id}/credit", store.RoleOperator, d.askCredit},
		{"POST " + workspacesPath + "/{id}/credit", store.RoleOperator, d.credit},
	}
}

// brief reads the workspace of the address.
func (d *door) brief(v *visit) (store.Brief, error) {
	id, err := v.id("id")
	if err != nil {
		return store.Brief{}, err
	}
	return d.Store.BriefOf(v.ctx(), id)
}

func briefFacts(b store.Brief) []fact {
	blocked := "no"
	if b.Blocked {
		blocked = "yes"
		if b.BlockedReason != nil {
			blocked += ": " + *b.BlockedReason
		}
	}
	return []fact{{"Workspace", b.ID.String()}, {"Label", b.Label}, {"Balance", web.USD(b.Balance)}, {"Blocked", blocked}}
}

func blockForm(b store.Brief, blocked bool) asked {
	a := asked{Title: "Unblock this workspace", Facts: briefFacts(b), Points: []string{
		"Its agents can make priced calls again from the very next one, and waiting webhook deliveries go out.",
		"The reason of the block is forgotten; the audit log keeps it.",
	}, Form: form{Button: "Unblock", Back: workspacePath(b.ID), Fields: []*field{{Name: "reason", Label: "Reason", Hint: "Kept in the audit log.", Max: operators.ReasonMax}}}}
	if blocked {
		a = asked{Title: "Block this workspace", Facts: briefFacts(b), Points: []string{
			"From the very next call on, its agents cannot read, write, lock or send: priced calls, deposits and refunds answer 403 WORKSPACE_BLOCKED.",
			"Locks can still be released and keys revoked. Webhook deliveries wait. Nothing is deleted and no money moves.",
			"Its people are not told why; they see that they are blocked.",
		}, Form: form{Button: "Block", Danger: true, Back: workspacePath(b.ID), Fields: []*field{reasonField("For operators; kept with the workspace and in the audit log.")}}}
	}
	return a
}

func (d *door) askBlock(blocked bool) func(*visit) error {
	return func(v *visit) error {
		b, err := d.brief(v)
		if err != nil {
			return err
		}
		return v.ask(workspacesPath, blockForm(b, blocked))
	}
}

func (d *door) block(blocked bool) func(*visit) error {
	return func(v *visit) error {
		b, err := d.brief(v)
		if err != nil {
			return err
		}
		reason, err := operators.Reason(v.r.PostFormValue("reason"), blocked)
		if err != nil {
			return v.refusedInput(err, workspacesPath, blockForm(b, blocked))
		}
		if err := d.Store.Block(v.ctx(), v.act(reason), b.ID, blocked); err != nil {
			return err
		}
		message := "unblocked"
		if blocked {
			message = "blocked"
		}
		return v.redirect(workspacePath(b.ID), message)
	}
}

// creditForm names the credit, so that a form that is sent twice credits once.
func creditForm(b store.Brief, id uuid.UUID) asked {
	refundable := &field{Name: "refundable", Label: "It can be refunded", Kind: "checkbox", Hint: "For money that came in another way. Leave it off for a gift."}
	if b.TrialExpiresAt != nil {
		refundable.Hint = "This is a trial: its credit is never refundable."
	}
	return asked{Title: "Credit this workspace", Facts: briefFacts(b), Points: []string{
		"The amount is added to the balance at once. It cannot be taken back.",
		"Its owner sees the amount and the reason in the activity log.",
	}, Form: form{Button: "Credit", Back: workspacePath(b.ID), Hidden: []hidden{{"id", id.String()}}, Fields: []*field{
		{Name: "usd", Label: "Amount in dollars", Hint: "Such as 5 or 0.25; at most five decimals. One unit is $0.00001.", Required: true, Max: 20},
		reasonField("The owner of the workspace sees it."),
		refundable,
	}}}
}

func (d *door) askCredit(v *visit) error {
	b, err := d.brief(v)
	if err != nil {
		return err
	}
	return v.ask(workspacesPath, creditForm(b, uuid.Must(uuid.NewV7())))
}

func (d *door) credit(v *visit) error {
	b, err := d.brief(v)
	if err != nil {
		return err
	}
	adjustment, ok := api.ParseID(v.r.PostFormValue("id"))
	if !ok {
		return errStaleForm
	}
	units, err := unitsOf(v.r.PostFormValue("usd"))
	var reason string
	if err == nil {
		reason, err = operators.Reason(v.r.PostFormValue("reason"), true)
	}
	if err == nil {
		err = d.Store.Credit(v.ctx(), v.act(reason), b.ID, adjustment, units, v.r.PostFormValue("refundable") != "")
	}
	switch {
	case errors.Is(err, store.ErrCreditLimit):
		err = &operators.InputError{Field: "usd", Fault: "this or the balance after it is more than a balance can be"}
	case errors.Is(err, store.ErrCreditUsed):
		return &problem{Status: 409, Title: "This form was sent before with another amount", Text: "That one was credited, this one was not. Look at the workspace before you credit again."}
	}
	if err != nil {
		return v.refusedInput(err, workspacesPath, creditForm(b, adjustment))
	}
	return v.redirect(workspacePath(b.ID), "credited")
}

// unitsOf reads an amount in dollars.
func unitsOf(usd string) (int64, error) {
	usd = strings.TrimPrefix(strings.TrimSpace(usd), "$")
	units, err := billing.ParseUSD(usd, 5)
	if err != nil || units < 1 {
		return 0, &operators.InputError{Field: "usd", Fault: fmt.Sprintf("must be an amount in dollars above zero with at most five decimals, not %s", strconv.Quote(usd))}
	}
	return int64(units), nil
}
