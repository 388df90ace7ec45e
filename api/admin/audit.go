package admin

import (
	"strings"

	"aanet/api"
	"aanet/store"

	"github.com/google/uuid"
)

const auditPath = Root + "/audit"

func (d *door) auditRoutes() []route {
	return []route{{"GET " + auditPath, store.RoleViewer, d.audit}}
}

// auditActions are what the log tells apart.
var auditActions = []string{
	"workspace.credit", "workspace.block", "workspace.unblock", "refund.pay", "refund.reject", "deposit.credit", "deposit.fail",
	"webhook.enable", "webhook.disable", "feedback.triage", "jobs.change", "operator.create", "operator.role", "operator.password",
	"operator.disable", "operator.enable", "operator.login", "operator.logout_everywhere",
}

type auditPage struct {
	Actor, Action, Subject, Workspace string // the filters
	Actions                           []string
	Rows                              []auditView
	Pager                             pager
}

type auditView struct {
	store.AuditRow
	Link string // to what it is about; empty: it has no page
}

var auditLinks = map[string]string{
	"workspace": workspacesPath, "refund": refundsPath, "deposit": depositsPath, "webhook": webhooksPath, "feedback": feedbackPath,
}

func (d *door) audit(v *visit) error {
	get := func(name string) string { return strings.TrimSpace(v.r.URL.Query().Get(name)) }
	page := auditPage{Actor: get("actor"), Action: get("action"), Subject: get("subject"), Workspace: get("workspace"), Actions: auditActions}
	f := store.AuditFilter{Actor: page.Actor, Action: page.Action, Subject: page.Subject, Limit: pageRows + 1}
	for _, text := range []string{f.Actor, f.Action, f.Subject} {
		if api.TextFault(text, 0, 500, false) != "" {
			return errNotFound
		}
	}
	if page.Workspace != "" {
		id, ok := api.ParseID(page.Workspace)
		if !ok {
			id = uuid.Nil // which names nothing
		}
		f.Workspace = &id
	}
	var after placed
	if v.after(&after) {
		f.Before = &store.AuditRow{At: after.At, ID: after.ID}
	}
	rows, err := d.Store.Audit(v.ctx(), f)
	if err != nil {
		return err
	}
	rows, page.Pager, err = pages(v, rows, func(r store.AuditRow) any { return placed{r.At, r.ID} })
	if err != nil {
		return err
	}
	for _, r := range rows {
		view := auditView{AuditRow: r}
		if base := auditLinks[r.SubjectKind]; base != "" {
			view.Link = base + "/" + r.Subject
		} else if r.SubjectKind == "operator" && v.me.Role.Includes(store.RoleAdmin) {
			view.Link = operatorsPath + "/" + r.Subject
		}
		page.Rows = append(page.Rows, view)
	}
	return v.show("audit.html", "Audit log", auditPath, page)
}
