package admin

import (
	"errors"
	"net/http"
	"strings"

	"aanet/api/operators"
	"aanet/api/web"
	"aanet/billing"
	"aanet/billing/refunds"
	"aanet/billing/x402"
	"aanet/store"
)

const refundsPath = Root + "/refunds"

func (d *door) refundRoutes() []route {
	return []route{
		{"GET " + refundsPath, store.RoleViewer, d.refundQueue},
		{"GET " + refundsPath + "/{id}", store.RoleViewer, d.showRefund},
		{"POST " + refundsPath + "/{id}/pay", store.RoleOperator, d.payRefund},
		{"GET " + refundsPath + "/{id}/reject", store.RoleOperator, d.askReject},
		{"POST " + refundsPath + "/{id}/reject", store.RoleOperator, d.rejectRefund},
	}
}

func (d *door) refundQueue(v *visit) error {
	var after placed
	v.after(&after)
	waiting, err := d.Store.PendingRefunds(v.ctx(), store.Refund{RequestedAt: after.At, ID: after.ID}, pageRows+1)
	if err != nil {
		return err
	}
	waiting, leads, err := pages(v, waiting, func(r store.Refund) any { return placed{r.RequestedAt, r.ID} })
	if err != nil {
		return err
	}
	return v.show("refunds.html", "Refunds", refundsPath, struct {
		Waiting []refundView
		Pager   pager
	}{viewsOf(waiting), leads})
}

// refundView is a refund with what is paid out.
type refundView struct {
	store.Refund
	Net     int64
	Chain   string // what people call the network
	Decided *store.AuditRow
}

func viewOf(r store.Refund) refundView {
	return refundView{Refund: r, Net: r.Units - r.Fee, Chain: networkName(r.Network)}
}

func viewsOf(all []store.Refund) (views []refundView) {
	for _, r := range all {
		views = append(views, viewOf(r))
	}
	return views
}

// refundPage is a refund with its workspace's history, and with a transaction that is looked at.
type refundPage struct {
	Refund    refundView
	Workspace store.Brief
	Others    []refundView
	Deposits  []store.Deposit
	Asks      bool   // the chain can be asked
	Typed     string // the transaction
	Fault     string // why that one is none, or was not looked at
	Steps     []stepView
	Pay       *form // records it
	Later     bool  // it may become right
}

// stepView is a step of the check as it is shown.
type stepView struct{ Class, Title, Detail string }

func (d *door) showRefund(v *visit) error {
	page, err := d.refundPage(v)
	if err != nil {
		return err
	}
	page.Typed = strings.TrimSpace(v.r.URL.Query().Get("tx"))
	if page.Typed != "" && page.Refund.State == store.RefundPending && v.me.Role.Includes(store.RoleOperator) {
		if err := d.look(v, &page); err != nil {
			return err
		}
	}
	return v.show("refund.html", "Refund", refundsPath, page)
}

func (d *door) refundPage(v *visit) (page refundPage, err error) {
	id, err := v.id("id")
	if err != nil {
		return page, err
	}
	r, err := d.Store.FindRefund(v.ctx(), id)
	if err != nil {
		return page, err
	}
	page.Refund, page.Asks = viewOf(r), d.Refunds.Asks(r)
	if row, found, err := d.Store.LastAct(v.ctx(), id.String()); err != nil {
		return page, err
	} else if found {
		page.Refund.Decided = &row
	}
	if page.Workspace, err = d.Store.BriefOf(v.ctx(), r.Workspace); err != nil {
		return page, err
	}
	others, err := d.Store.Refunds(v.ctx(), r.Workspace)
	if err != nil {
		return page, err
	}
	for _, other := range viewsOf(others) {
		if other.ID != id && len(page.Others) < historyRows {
			page.Others = append(page.Others, other)
		}
	}
	page.Deposits, err = d.Store.Deposits(v.ctx(), r.Workspace, historyRows)
	return page, err
}

// historyRows is how much of a workspace's history stands beside a refund.
const historyRows = 10

// look compares a transaction with the refund, step by step, and offers to record it when nothing speaks against it.
func (d *door) look(v *visit, page *refundPage) error {
	c, err := d.Refunds.Check(v.ctx(), page.Refund.ID, page.Typed)
	var form *x402.TransactionError
	switch {
	case errors.As(err, &form):
		page.Fault = form.Error()
		return nil
	case errors.Is(err, refunds.ErrChainAway):
		d.Log.WarnContext(v.ctx(), "a payout could not be checked", "refund", page.Refund.ID, "error", err.Error())
		page.Fault = "The chain cannot be asked now. Try again in a moment."
		return nil
	case err != nil:
		return d.refundProblem(v, err)
	}
	for _, s := range c.Steps {
		page.Steps = append(page.Steps, stepView{stepClasses[s.State], stepTitles[s.Name], s.Detail})
		page.Later = page.Later || s.State == billing.StepOpen
	}
	if c.Fits {
		pay := v.payForm(page.Refund, c)
		page.Pay = &pay
	}
	return nil
}

var stepClasses = map[billing.StepState]string{billing.StepOK: "done", billing.StepOpen: "waiting", billing.StepWrong: "failed"}

var stepTitles = map[string]string{
	"unused":        "Not recorded for another refund",
	"transaction":   "Known to the chain",
	"confirmations": "Deep enough in the chain",
	"outcome":       "Succeeded",
	"time":          "Made after the request",
	"amount":        "The right token, address and exact amount",
	"sender":        "Paid by one of your wallets",
}

func (v *visit) payForm(r refundView, c refunds.Checked) form {
	f := form{Action: refundsPath + "/" + r.ID.String() + "/pay", Button: "Record as paid", Hidden: []hidden{{"tx", c.Transaction}}}
	if !c.Asked {
		f.Fields = []*field{{
			Name: "unchecked", Kind: "checkbox", Required: true, Label: "I looked it up in an explorer: exactly " + web.USD(r.Net) + " in USDC to " + r.Destination + " on " + r.Chain + ", confirmed",
			Hint: "No RPC URL is configured for this network, so nothing else checks it. The refund is kept as unchecked.",
		}}
	}
	return v.filled(f)
}

func (d *door) payRefund(v *visit) error {
	id, err := v.id("id")
	if err != nil {
		return err
	}
	tx, unchecked := v.r.PostFormValue("tx"), v.r.PostFormValue("unchecked") != ""
	_, err = d.Refunds.Pay(v.ctx(), id, tx, unchecked, v.act(""))
	if err != nil {
		return d.refundProblem(v, err)
	}
	return v.redirect(refundsPath+"/"+id.String(), "refund-paid")
}

// refundProblem says in an operator's words why a refund was not decided.
func (d *door) refundProblem(v *visit, err error) error {
	var state *store.StateError
	var payout *refunds.PayoutError
	var form *x402.TransactionError
	switch {
	case errors.As(err, &state):
		return v.taken("refund", state)
	case errors.As(err, &payout):
		return &problem{Status: http.StatusConflict, Title: "The chain does not show this payout", Text: "Nothing was recorded. " + payout.Error() + "."}
	case errors.As(err, &form):
		return &problem{Status: http.StatusUnprocessableEntity, Title: "This is no transaction", Text: "Nothing was recorded. " + form.Error() + "."}
	case errors.Is(err, store.ErrPayoutUsed):
		return &problem{Status: http.StatusConflict, Title: "This transaction paid another refund", Text: "Nothing was recorded. A transaction pays one refund."}
	case errors.Is(err, refunds.ErrUnchecked):
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Say that you looked it up", Text: "Nothing was recorded. Without an RPC URL for the network nothing else checks a payout: tick the box."}
	case errors.Is(err, refunds.ErrChainAway):
		d.Log.WarnContext(v.ctx(), "a payout could not be checked", "error", err.Error())
		return &problem{Status: http.StatusServiceUnavailable, Title: "The chain cannot be asked now", Text: "Nothing was recorded. Try again in a moment."}
	}
	return err
}

// taken says who was first.
func (v *visit) taken(what string, state *store.StateError) error {
	id := v.r.PathValue("id")
	p := &problem{Status: http.StatusConflict, Title: "Somebody else was first", Text: "Nothing was done: the " + what + " is " + state.State + " already.", About: Root + "/" + what + "s/" + id}
	row, found, err := v.door.Store.LastAct(v.ctx(), id)
	if err != nil {
		return err
	}
	if found {
		p.Text = "Nothing was done: the " + what + " is " + state.State + " since " + row.At.UTC().Format("2006-01-02 15:04:05") + " UTC, by " + row.Actor + "."
		if row.Reason != "" {
			p.Text += " Reason: " + row.Reason
		}
	}
	return p
}

func (d *door) rejectForm(v *visit) (asked, error) {
	page, err := d.refundPage(v)
	if err != nil {
		return asked{}, err
	}
	r := page.Refund
	if r.State != store.RefundPending {
		return asked{}, v.taken("refund", &store.StateError{State: r.State, Transaction: r.Transaction})
	}
	return asked{Title: "Reject this refund", Facts: []fact{
		{"Amount", web.USD(r.Units)}, {"To", r.Destination + " on " + r.Chain}, {"Workspace", page.Workspace.Label + " (" + r.Workspace.String() + ")"},
	}, Points: []string{
		web.USD(r.Units) + " go back into the workspace's balance at once.",
		"Its owner sees the refund as rejected, with your reason. This cannot be undone; the owner can ask again.",
		"If you have paid it already, the money is gone twice: look first.",
	}, Form: form{Button: "Reject", Danger: true, Back: refundsPath + "/" + r.ID.String(), Fields: []*field{reasonField("The owner of the workspace sees it.")}}}, nil
}

func (d *door) askReject(v *visit) error {
	a, err := d.rejectForm(v)
	if err != nil {
		return err
	}
	return v.ask(refundsPath, a)
}

func (d *door) rejectRefund(v *visit) error {
	id, err := v.id("id")
	if err != nil {
		return err
	}
	reason, err := operators.Reason(v.r.PostFormValue("reason"), true)
	if err != nil {
		a, formErr := d.rejectForm(v)
		if formErr != nil {
			return formErr
		}
		return v.refusedInput(err, refundsPath, a)
	}
	if _, err := d.Refunds.Reject(v.ctx(), id, v.act(reason)); err != nil {
		return d.refundProblem(v, err)
	}
	return v.redirect(refundsPath+"/"+id.String(), "refund-rejected")
}
