package admin

import (
	"errors"
	"net/http"

	"aanet/api"
	"aanet/api/operators"
	"aanet/store"

	"github.com/google/uuid"
)

const (
	webhooksPath  = Root + "/webhooks"
	attemptsShown = 50
)

func (d *door) webhookRoutes() []route {
	return []route{
		{"GET " + webhooksPath, store.RoleViewer, d.failingWebhooks},
		{"GET " + webhooksPath + "/{id}", store.RoleViewer, d.showWebhook},
		{"GET " + webhooksPath + "/{id}/enable", store.RoleOperator, d.askWebhook(true)},
		{"POST " + webhooksPath + "/{id}/enable", store.RoleOperator, d.setWebhook(true)},
		{"GET " + webhooksPath + "/{id}/disable", store.RoleOperator, d.askWebhook(false)},
		{"POST " + webhooksPath + "/{id}/disable", store.RoleOperator, d.setWebhook(false)},
	}
}

// failed is the key of the list: the failures first.
type failed struct {
	Failures int32
	ID       uuid.UUID
}

func (d *door) failingWebhooks(v *visit) error {
	var key failed
	var after *store.WatchedWebhook
	if v.after(&key) {
		after = &store.WatchedWebhook{Failures: int(key.Failures), ID: key.ID}
	}
	list, err := d.Store.FailingWebhooks(v.ctx(), after, pageRows+1)
	if err != nil {
		return err
	}
	list, leads, err := pages(v, list, func(w store.WatchedWebhook) any { return failed{int32(w.Failures), w.ID} })
	if err != nil {
		return err
	}
	return v.show("webhooks.html", "Webhooks", webhooksPath, struct {
		List  []store.WatchedWebhook
		Pager pager
	}{list, leads})
}

func (d *door) webhook(v *visit) (store.WatchedWebhook, error) {
	id, err := v.id("id")
	if err != nil {
		return store.WatchedWebhook{}, err
	}
	return d.Store.FindWebhook(v.ctx(), id)
}

func (d *door) showWebhook(v *visit) error {
	w, err := d.webhook(v)
	if err != nil {
		return err
	}
	attempts, err := d.Store.WebhookAttempts(v.ctx(), w.Workspace, w.ID, attemptsShown)
	if err != nil {
		return err
	}
	return v.show("webhook.html", "Webhook", webhooksPath, struct {
		Webhook  store.WatchedWebhook
		Attempts []store.WebhookAttempt
	}{w, attempts})
}

func webhookForm(w store.WatchedWebhook, enable bool) asked {
	a := asked{Facts: []fact{{"URL", w.URL}, {"Workspace", w.Workspace.String()}}, Form: form{Back: webhooksPath + "/" + w.ID.String(), Fields: []*field{reasonField("Kept in the audit log.")}}}
	if enable {
		a.Title, a.Form.Button = "Enable this webhook", "Enable"
		a.Points = []string{"Its failures are forgotten, and what waits for it is sent now.", "Each attempt costs the workspace 2 units, whether the receiver answers or not."}
		return a
	}
	a.Title, a.Form.Button, a.Form.Danger = "Disable this webhook", "Disable", true
	a.Points = []string{"Nothing is sent to it any more. What waits is kept for three days.", "Its owner sees it as disabled by the operator, and can enable it again."}
	return a
}

func (d *door) askWebhook(enable bool) func(*visit) error {
	return func(v *visit) error {
		w, err := d.webhook(v)
		if err != nil {
			return err
		}
		return v.ask(webhooksPath, webhookForm(w, enable))
	}
}

func (d *door) setWebhook(enable bool) func(*visit) error {
	return func(v *visit) error {
		w, err := d.webhook(v)
		if err != nil {
			return err
		}
		reason, err := operators.Reason(v.r.PostFormValue("reason"), true)
		if err != nil {
			return v.refusedInput(err, webhooksPath, webhookForm(w, enable))
		}
		err = d.Store.SetWebhook(v.ctx(), v.act(reason), w.Workspace, w.ID, enable, api.WebhooksActiveMax)
		switch {
		case errors.Is(err, store.ErrWebhookUnchanged):
			return v.unchanged(w)
		case errors.Is(err, store.ErrWebhookLimit):
			return &problem{Status: http.StatusConflict, Title: "The workspace has five active webhooks", Text: "Nothing was done. It may have no more; its owner has to delete one, or you disable another one."}
		case err != nil:
			return err
		}
		message := "webhook-disabled"
		if enable {
			message = "webhook-enabled"
		}
		return v.redirect(webhooksPath+"/"+w.ID.String(), message)
	}
}

// unchanged says who made a webhook what it is, if an operator did.
func (v *visit) unchanged(w store.WatchedWebhook) error {
	p := &problem{Status: http.StatusConflict, Title: "It is so already", Text: "Nothing was done."}
	row, found, err := v.door.Store.LastAct(v.ctx(), w.ID.String())
	if err == nil && found {
		p.Text += " The last one who decided about it was " + row.Actor + ", at " + row.At.UTC().Format("2006-01-02 15:04:05") + " UTC."
	}
	return p
}
