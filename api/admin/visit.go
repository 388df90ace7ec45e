package admin

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"aanet/api"
	"aanet/api/operators"
	"aanet/api/web"
	"aanet/store"
)

// visit is one request of an operator, and how it is answered.
type visit struct {
	door    *door
	w       http.ResponseWriter
	r       *http.Request
	session store.Session
	token   string         // of the session
	me      store.Operator // the zero Operator on the login page
	waits   *store.Waits   // the page shows these itself; nil: it does not
}

// refreshHeader marks requests that a page makes by itself. They do not keep the session from going idle.
const refreshHeader = "X-AANet-Refresh"

func (v *visit) refreshes() bool {
	polls := v.r.Method == http.MethodGet && strings.HasPrefix(v.r.URL.Path, JobsPath+"/api/")
	return polls || v.r.Header.Get(refreshHeader) != ""
}

// changes tells whether the request may change something.
func (v *visit) changes() bool { return v.r.Method != http.MethodGet && v.r.Method != http.MethodHead }

func (v *visit) ctx() context.Context { return v.r.Context() }

func (v *visit) now() time.Time { return v.door.Now() }

// act is an act of this operator.
func (v *visit) act(reason string) store.Act {
	return operators.ActOf(v.me, v.door.ClientAddr(v.r), reason)
}

// id reads an id of the path. What is none names nothing.
func (v *visit) id(name string) (uuid.UUID, error) {
	id, ok := api.ParseID(v.r.PathValue(name))
	if !ok {
		return id, errNotFound
	}
	return id, nil
}

// view is what every template gets.
type view struct {
	Page  web.Page
	Token string // of forms
	Me    store.Operator
	Done  string // what was done by the form that led here
	Data  any

	now time.Time
}

// Ago is how long something is past, as text.
func (v view) Ago(at time.Time) string { return web.Span(max(v.now.Sub(at), time.Second)) }

// May tells whether the operator's role includes another one.
func (v view) May(role string) bool { return v.Me.Role.Includes(store.Role(role)) }

// show answers with a page. here is the entry of the menu that it belongs to.
func (v *visit) show(template, title, here string, data any) error {
	return v.answer(http.StatusOK, template, title, here, data)
}

func (v *visit) answer(status int, template, title, here string, data any) error {
	w := view{
		Page: web.Page{Title: title, Area: "operators", Home: Root, Here: here},
		Me:   v.me, Done: done[v.r.URL.Query().Get("done")], Data: data, now: v.now(),
	}
	if v.token != "" && v.me.ID != uuid.Nil {
		w.Token = operators.FormToken(v.token)
		w.Page.User, w.Page.Account = v.me.Email+" ("+string(v.me.Role)+")", accountPath
		w.Page.Logout, w.Page.Token = logoutPath, w.Token
		w.Page.Nav = v.menu()
		w.Page.Script = live.Path
		web.Protect(v.w.Header(), web.LiveForms)
	}
	var b bytes.Buffer
	if err := v.door.pages.ExecuteTemplate(&b, template, w); err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a client that is gone needs no answer
	return nil
}

// done are the messages after a change, by the name that the address carries: nobody can make a page say something else.
var done = map[string]string{
	"logged-out":        "You are signed out.",
	"blocked":           "The workspace is blocked.",
	"unblocked":         "The workspace is no longer blocked.",
	"credited":          "The units are in the balance.",
	"refund-paid":       "The refund is recorded as paid.",
	"refund-rejected":   "The refund is rejected; the units are back in the balance.",
	"deposit-credited":  "The deposit is credited.",
	"deposit-failed":    "The deposit is failed.",
	"saved":             "Saved.",
	"webhook-enabled":   "The webhook is enabled.",
	"webhook-disabled":  "The webhook is disabled.",
	"operator-created":  "The operator can sign in now.",
	"operator-disabled": "The operator is disabled, and signed out everywhere.",
	"operator-enabled":  "The operator can sign in again.",
	"role-changed":      "The role is changed.",
	"password-set":      "The password is set; all sessions of the operator have ended.",
	"password-changed":  "Your password is changed; your other sessions have ended.",
}

// redirect leads to a page after a change, which then shows the message (of done) of that name.
func (v *visit) redirect(path, message string) error {
	if message != "" {
		path += "?" + url.Values{"done": {message}}.Encode()
	}
	http.Redirect(v.w, v.r, path, http.StatusSeeOther)
	return nil
}
