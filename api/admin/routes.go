package admin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"aanet/api/operators"
	"aanet/api/web"
	"aanet/store"
)

// route is one address of the dashboard. A GET changes nothing; everything else needs the session's form token and
// comes from our own pages.
type route struct {
	pattern string     // of http.ServeMux: "GET /admin/refunds/{id}"
	least   store.Role // the lowest role that may; empty: no session is needed
	serve   func(*visit) error
}

// byScript tells that it is called by River's script, which has no form token, and must show where it comes from instead.
func (r route) byScript() bool { return strings.Contains(r.pattern, " "+JobsPath+"/") }

// routes lists every address, page by page.
func (d *door) routes() []route {
	return slices.Concat(d.loginRoutes(), d.overviewRoutes(), d.workspacesRoutes(), d.workspaceRoutes(), d.workspaceActRoutes(), d.refundRoutes(), d.depositRoutes(),
		d.feedbackRoutes(), d.webhookRoutes(), d.peopleRoutes(), d.auditRoutes(), d.accountRoutes(), d.pricesRoutes(), d.jobRoutes())
}

// entry is one of the menu. A role that may not see its page is not shown it.
type entry struct {
	web.Link
	least store.Role
	waits func(store.Waits) int64 // how many wait there; nil: nothing does
}

// nav is the menu.
var nav = []entry{
	{web.Link{Path: Root, Text: "Overview"}, store.RoleViewer, nil},
	{web.Link{Path: workspacesPath, Text: "Workspaces"}, store.RoleViewer, nil},
	{web.Link{Path: refundsPath, Text: "Refunds", Counted: "waiting"}, store.RoleViewer, func(w store.Waits) int64 { return w.RefundsWaiting }},
	{web.Link{Path: depositsPath, Text: "Deposits", Counted: "open for over ten minutes"}, store.RoleViewer, func(w store.Waits) int64 { return w.DepositsStuck }},
	{web.Link{Path: webhooksPath, Text: "Webhooks", Counted: "failing"}, store.RoleViewer, func(w store.Waits) int64 { return w.WebhooksFailing }},
	{web.Link{Path: feedbackPath, Text: "Feedback", Counted: "open"}, store.RoleViewer, func(w store.Waits) int64 { return w.FeedbackOpen }},
	{web.Link{Path: pricesPath, Text: "Prices"}, store.RoleViewer, nil},
	{web.Link{Path: JobsPath + "/", Text: "Jobs"}, store.RoleViewer, nil},
	{web.Link{Path: operatorsPath, Text: "Operators"}, store.RoleAdmin, nil},
	{web.Link{Path: auditPath, Text: "Audit"}, store.RoleViewer, nil},
}

// menu is the menu of this visitor. Without the database it only lacks its numbers.
func (v *visit) menu() (links []web.Link) {
	if v.waits == nil {
		waits, err := v.door.waits.get(v.ctx())
		if err == nil {
			v.waits = &waits
		}
	}
	for _, e := range nav {
		if !v.me.Role.Includes(e.least) {
			continue
		}
		if e.waits != nil && v.waits != nil {
			e.Count = e.waits(*v.waits)
		}
		links = append(links, e.Link)
	}
	return links
}

// guarded stands before every page: who is it, may he, does the post come from our own form.
func (d *door) guarded(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		v := &visit{door: d, w: w, r: request}
		if err := d.admit(v, r); err != nil {
			v.refuse(err)
			return
		}
		err := r.serve(v)
		if v.changes() && r.least != "" {
			d.overviews.forget() // the answer, being short, is sent when this returns: where it leads to, the act is seen
			d.waits.forget()
		}
		if err != nil {
			v.refuse(err)
		}
	}
}

// errToLogin sends somebody without a session to the login page.
var errToLogin = errors.New("log in first")

func (d *door) admit(v *visit, r route) error {
	if d.cross.Check(v.r) != nil {
		return errForeign
	}
	if r.least == "" {
		return nil
	}
	v.token = d.cookies.session(v.r)
	session, err := d.Operators.Session(v.r.Context(), v.token, !v.refreshes())
	if errors.Is(err, store.ErrNoSession) {
		return errToLogin
	}
	if err != nil {
		return err
	}
	v.session, v.me = session, session.Operator
	switch {
	case v.changes() && r.byScript() && !ownScript(v.r):
		return errForeign
	case v.changes() && !r.byScript() && !operators.IsFormToken(v.token, v.r.PostFormValue("token")):
		return errStaleForm
	}
	if !v.me.Role.Includes(r.least) {
		return operators.ErrForbidden
	}
	return nil
}

// toLogin leads to the login page, and from there back to what was asked for.
func (v *visit) toLogin() {
	if v.refreshes() {
		http.Error(v.w, "log in first", http.StatusUnauthorized)
		return
	}
	target := loginPath
	if v.r.Method == http.MethodGet && v.r.URL.Path != Root {
		target += "?" + url.Values{"next": {v.r.URL.RequestURI()}}.Encode()
	}
	http.Redirect(v.w, v.r, target, http.StatusSeeOther)
}

// ownPath is a path of the dashboard that a stranger's link may lead to after the login; else the first page.
func ownPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Host != "" || u.Scheme != "" || strings.ContainsAny(next, "\\\r\n\t") || !strings.HasPrefix(next, Root+"/") {
		return Root
	}
	return next
}
