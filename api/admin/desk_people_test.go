package admin_test

import (
	"strings"
	"testing"

	"aanet/api/web/browsertest"
	"aanet/store"
)

// signingIn logs in from a link into the dashboard, after a mistake, and out again.
func signingIn(t *testing.T, d *desk, size browsertest.Size) {
	tab := browsertest.Open(t, size, browsertest.Light)
	tab.Expect("status of 401")
	tab.Go(d.url + "/admin/refunds")
	tab.See("h1", "Sign in")
	lookTwice(tab, "login")
	missing(tab, "Sign in", "email")
	tab.Fill("#email", person(store.RoleOperator))
	tab.Fill("#password", "not the password")
	tab.Submit("main button", "Sign in")
	tab.See(".flash.bad", "The email address or the password is wrong.")
	if got := browsertest.Eval[string](tab, `document.querySelector("#email").value + " " + document.querySelector("#password").value`); got != person(store.RoleOperator)+" " {
		t.Errorf("after a wrong login the form has %q", got)
	}
	look(tab, "login-wrong")
	tab.Go(d.url + "/admin")
	tab.See("h1", "Sign in")
	tab.Go(d.url + "/admin/refunds")
	tab.Fill("#email", person(store.RoleOperator))
	tab.Fill("#password", password)
	tab.Enter("#password")
	tab.See("h1", "Refunds")
	tab.See("header", person(store.RoleOperator))
	tab.Submit("header button", "Sign out")
	tab.See(".flash", "You are signed out.")
	look(tab, "signed-out")
	tab.Back()
	tab.See("h1", "Sign in")
	if len(tab.Cookies()) > 1 { // that of the device stays
		t.Errorf("cookies after the logout: %d", len(tab.Cookies()))
	}
}

// managingOperators makes an operator, who signs in, gives another role and retires him. The audit log has all of it.
func managingOperators(t *testing.T, d *desk, size browsertest.Size) {
	tab := d.signIn(t, size, store.RoleAdmin)
	email := "new." + size.Name + "@aanet.example"
	tab.Submit("header a", "Operators")
	tab.Fill("#email", person(store.RoleAdmin))
	tab.Fill("#name", "Nora New")
	tab.Select("#role", "viewer")
	tab.Fill("#password", "long enough, is it")
	refused(tab, "Create", "email", "an operator has this address already", "operator-exists")
	tab.Fill("#email", email)
	tab.Fill("#password", "short")
	refused(tab, "Create", "password", "12 to 200", "operator-short-password")
	tab.Fill("#password", "long enough, is it")
	tab.Submit("main button", "Create")
	tab.See(".flash.ok", "The operator can sign in now.")
	look(tab, "operator-created")

	theirs := d.signInAs(t, size, email, "long enough, is it")
	theirs.Expect("status of 401") // its page refreshes itself
	if theirs.Count("header nav a") == tab.Count("header nav a") {
		t.Error("a viewer has the menu of an admin")
	}
	tab.Select("#role", "operator")
	tab.Submit("main button", "Change the role")
	tab.See(".flash.ok", "The role is changed.")
	tab.See("dl", "operator")
	tab.See("main table", "127.0.0.1") // signed in
	tab.Submit("main a", "Disable…")
	tab.See("main", "What will happen")
	tab.Fill("#reason", " ")
	refused(tab, "Disable", "reason", "must be 1 to 500", "operator-disable-refused")
	tab.Fill("#reason", "Nora left us")
	tab.Submit("main button", "Disable")
	tab.See(".flash.ok", "disabled, and signed out everywhere")
	look(tab, "operator-disabled")
	theirs.Submit("header a", "Refunds")
	theirs.See("h1", "Sign in")
	theirs.Fill("#email", email)
	theirs.Fill("#password", "long enough, is it")
	theirs.Submit("main button", "Sign in")
	theirs.See(".flash.bad", "is wrong")

	tab.Submit("main a", "in the audit log") // what they did themselves
	tab.See("main table", "operator.login")
	tab.Submit("main a", "All")
	for _, action := range []string{"operator.create", "operator.role", "operator.disable"} {
		tab.See("main tr", action)
	}
	tab.See("main tr", "Nora left us")
	tab.Select("#action", "operator.role")
	tab.Fill("#actor", person(store.RoleAdmin))
	tab.Submit("main button", "Filter")
	tab.Click("main tr summary", "show")
	tab.See("main tr details[open]", `"role": "viewer"`)
	tab.See("main tr details[open]", `"role": "operator"`)
	if tab.Count("main tbody tr") == 0 || browsertest.Eval[bool](tab, `[...document.querySelectorAll("main tbody tr")].some(r => !r.innerText.includes("operator.role"))`) {
		t.Error("the filter lets other acts through")
	}
	lookTwice(tab, "audit-filtered")
	tab.Go(d.url + "/admin/operators")
	tab.See("main tr", email)
	tab.See("main tr .badge.bad", "disabled")
	look(tab, "operators")
}

// changingAccount changes a password, with a mistake on the way, and signs out everywhere.
func changingAccount(t *testing.T, d *desk, size browsertest.Size) {
	email := "own." + size.Name + "@aanet.example"
	d.enrol(t, email, store.RoleViewer)
	tab, other := d.signInAs(t, size, email, password), d.signInAs(t, size, email, password)
	other.Expect("status of 401") // its page refreshes itself
	tab.Submit("header a", email)
	tab.See("main .badge", "this one")
	tab.Fill("#old", "not my password")
	tab.Fill("#password", "another good password")
	refused(tab, "Change the password", "old", "this is not your password", "account-refused")
	tab.Fill("#old", password)
	tab.Fill("#password", "another good password")
	tab.Submit("main button", "Change the password")
	tab.See(".flash.ok", "Your password is changed")
	look(tab, "account-changed")
	other.Reload()
	other.See("h1", "Sign in")
	tab.Submit("main button", "Sign out everywhere")
	tab.See("h1", "Sign in")
	tab.Fill("#email", email)
	tab.Fill("#password", "another good password")
	tab.Submit("main button", "Sign in")
	tab.See("h1", "Overview")
}

// onlyLooking is what somebody sees who may decide nothing.
func onlyLooking(t *testing.T, d *desk, size browsertest.Size) {
	w := d.tenant(t, "Looked at, on a "+size.Name, 200_000)
	id := w.askBack(t)
	tab := d.signIn(t, size, store.RoleViewer)
	tab.Expect("status of 403")
	for path, says := range map[string]string{"/admin/refunds/" + id: "Your role can see refunds and not decide them.", "/admin/workspaces/" + w.id: "Looked at"} {
		tab.Go(d.url + path)
		tab.See("main", says)
		if n := tab.Count("main .button, main button"); n != 0 {
			t.Errorf("%s has %d buttons for a viewer", path, n)
		}
	}
	for _, path := range []string{"/admin/workspaces/" + w.id + "/block", "/admin/refunds/" + id + "/reject", "/admin/operators"} {
		tab.Go(d.url + path)
		tab.See("h1", "Your role does not allow this")
	}
	look(tab, "not-allowed")
	if got := w.refund(t); got["status"] != "pending" || strings.Contains(tab.Address(), "done=") {
		t.Errorf("%v", got)
	}
}
