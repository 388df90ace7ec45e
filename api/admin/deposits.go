package admin

import (
	"errors"

	"aanet/api/operators"
	"aanet/api/web"
	"aanet/billing"
	"aanet/billing/deposits"
	"aanet/billing/x402"
	"aanet/store"
)

const depositsPath = Root + "/deposits"

func (d *door) depositRoutes() []route {
	return []route{
		{"GET " + depositsPath, store.RoleViewer, d.openDeposits},
		{"GET " + depositsPath + "/{id}", store.RoleViewer, d.showDeposit},
		{"GET " + depositsPath + "/{id}/credit", store.RoleOperator, d.askDeposit(true)},
		{"POST " + depositsPath + "/{id}/credit", store.RoleOperator, d.decideDeposit(true)},
		{"GET " + depositsPath + "/{id}/fail", store.RoleOperator, d.askDeposit(false)},
		{"POST " + depositsPath + "/{id}/fail", store.RoleOperator, d.decideDeposit(false)},
	}
}

// depositView is a deposit as it is shown.
type depositView struct {
	store.Deposit
	Chain string
	Badge string
}

func depositViewOf(of store.Deposit) depositView {
	view := depositView{Deposit: of, Chain: networkName(of.Network), Badge: "quiet"}
	switch of.State {
	case store.DepositCredited:
		view.Badge = "ok"
	case store.DepositUnknown:
		view.Badge = "warn"
	case store.DepositFailed:
		view.Badge = "bad"
	}
	return view
}

func (d *door) openDeposits(v *visit) error {
	var after placed
	v.after(&after)
	open, err := d.Store.OpenDeposits(v.ctx(), store.Deposit{CreatedAt: after.At, ID: after.ID}, pageRows+1)
	if err != nil {
		return err
	}
	open, leads, err := pages(v, open, func(o store.Deposit) any { return placed{o.CreatedAt, o.ID} })
	if err != nil {
		return err
	}
	var views []depositView
	for _, o := range open {
		views = append(views, depositViewOf(o))
	}
	return v.show("deposits.html", "Deposits", depositsPath, struct {
		Open  []depositView
		Pager pager
	}{views, leads})
}

// depositPage is a deposit with what is known of its payment.
type depositPage struct {
	Deposit   depositView
	Workspace store.Brief
	Known     *deposits.Known // nil: it has no payment that can be read
	Finding   string          // what the chain shows; empty: it was not asked
	Mine      bool            // it is for an operator to decide
	Decided   *store.AuditRow
}

var findings = map[billing.PaymentState]string{
	billing.PaymentPending: "Not decided yet",
	billing.PaymentMade:    "The payment was made",
	billing.PaymentDead:    "It can never be made any more",
	billing.PaymentUnused:  "Not made as of now, and still possible",
}

func (d *door) showDeposit(v *visit) error {
	id, err := v.id("id")
	if err != nil {
		return err
	}
	found, err := d.Store.FindDeposit(v.ctx(), id)
	if err != nil {
		return err
	}
	page := depositPage{Deposit: depositViewOf(found), Mine: found.State == store.DepositUnknown}
	if page.Workspace, err = d.Store.BriefOf(v.ctx(), found.Workspace); err != nil {
		return err
	}
	if row, known, err := d.Store.LastAct(v.ctx(), id.String()); err != nil {
		return err
	} else if known {
		page.Decided = &row
	}
	d.lookAtPayment(v, found, &page)
	return v.show("deposit.html", "Deposit", depositsPath, page)
}

// lookAtPayment asks the chain about a deposit that nobody knows about. That it cannot be asked is no fault of the page.
func (d *door) lookAtPayment(v *visit, of store.Deposit, page *depositPage) {
	desk := d.Deposits
	if of.State != store.DepositUnknown {
		desk.Evidence = nil // it is decided, or somebody works on it
	}
	known, err := desk.Look(v.ctx(), of)
	if err != nil {
		d.Log.WarnContext(v.ctx(), "a deposit's payment cannot be read", "deposit", of.ID, "error", err.Error())
		return
	}
	page.Known = &known
	switch {
	case known.Away != nil:
		d.Log.WarnContext(v.ctx(), "a deposit could not be looked up", "deposit", of.ID, "error", known.Away.Error())
		page.Finding = "The chain cannot be asked now."
	case known.Asked:
		page.Finding = findings[known.Finding.State] + ". " + known.Finding.Reason
		if known.Finding.Transaction != "" {
			page.Finding += " Transaction " + known.Finding.Transaction + "."
		}
	}
}

// depositForm is the page before a decision.
func (d *door) depositForm(v *visit, credit bool) (asked, error) {
	id, err := v.id("id")
	if err != nil {
		return asked{}, err
	}
	found, err := d.Store.FindDeposit(v.ctx(), id)
	if err != nil {
		return asked{}, err
	}
	if found.State != store.DepositUnknown {
		return asked{}, v.depositTaken(&store.StateError{State: found.State})
	}
	view := depositViewOf(found)
	a := asked{Facts: []fact{
		{"Amount", web.USD(found.Units)}, {"Network", view.Chain}, {"Payer", found.Payer}, {"Workspace", found.Workspace.String()}, {"Sent", web.Span(found.Age) + " ago"},
	}, Form: form{Back: depositsPath + "/" + id.String()}}
	if credit {
		a.Title = "Credit this deposit"
		a.Points = []string{web.USD(found.Units) + " are added to the workspace's balance at once.", "The payment counts as used for ever: it cannot be credited again, nor taken back."}
		a.Form.Button, a.Form.Fields = "Credit", []*field{
			{Name: "tx", Label: "Transaction that paid it", Value: found.Transaction, Required: true, Max: 200, Hint: "As an explorer of " + view.Chain + " shows it: to your wallet, of exactly this amount, after the deposit was made."},
			reasonField("How you know. It is kept with the deposit and in the audit log."),
		}
		return a, nil
	}
	a.Title = "Fail this deposit"
	a.Points = []string{
		"It counts as never paid, for good. Whoever sent the signature is told that it is invalid.",
		"If the money did arrive, the workspace has paid and gets nothing. A facilitator's word is no proof: look on the chain, and wait until the authorization has expired.",
	}
	a.Form.Button, a.Form.Danger, a.Form.Fields = "Fail it", true, []*field{reasonField("The owner of the workspace sees it in the activity log.")}
	return a, nil
}

func (v *visit) depositTaken(state *store.StateError) error {
	if state.State == store.DepositReceived || state.State == store.DepositSettling {
		return &problem{Status: 409, Title: "Somebody works on it", Text: "Nothing was done: the deposit is " + state.State + ". It is yours once it is unknown."}
	}
	return v.taken("deposit", state)
}

func (d *door) askDeposit(credit bool) func(*visit) error {
	return func(v *visit) error {
		a, err := d.depositForm(v, credit)
		if err != nil {
			return err
		}
		return v.ask(depositsPath, a)
	}
}

func (d *door) decideDeposit(credit bool) func(*visit) error {
	return func(v *visit) error {
		id, err := v.id("id")
		if err != nil {
			return err
		}
		reason, err := operators.Reason(v.r.PostFormValue("reason"), true)
		message := "deposit-failed"
		switch {
		case err != nil:
		case credit:
			message = "deposit-credited"
			_, err = d.Deposits.Credit(v.ctx(), v.act(reason), id, v.r.PostFormValue("tx"))
		default:
			_, err = d.Deposits.Fail(v.ctx(), v.act(reason), id)
		}
		var state *store.StateError
		var form *x402.TransactionError
		var used *store.TransactionUsedError
		switch {
		case err == nil:
			return v.redirect(depositsPath+"/"+id.String(), message)
		case errors.As(err, &state):
			return v.depositTaken(state)
		case errors.As(err, &form):
			err = &operators.InputError{Field: "tx", Fault: form.Error()}
		case errors.As(err, &used):
			err = &operators.InputError{Field: "tx", Fault: used.Error()}
		}
		a, formErr := d.depositForm(v, credit)
		if formErr != nil {
			return formErr
		}
		return v.refusedInput(err, depositsPath, a)
	}
}
