package admin

import (
	"errors"
	"net/http"

	"aanet/api/operators"
	"aanet/store"
)

const (
	loginPath  = Root + "/login"
	logoutPath = Root + "/logout"
)

func (d *door) loginRoutes() []route {
	return []route{
		{"GET " + loginPath, "", d.showLogin},
		{"POST " + loginPath, "", d.login},
		{"POST " + logoutPath, store.RoleViewer, d.logout},
	}
}

// loginForm is what the login page shows.
type loginForm struct {
	Email, Next, Fault string
}

func (d *door) showLogin(v *visit) error {
	if _, err := d.Operators.Session(v.ctx(), d.cookies.session(v.r), true); err == nil {
		return v.redirect(ownPath(v.r.URL.Query().Get("next")), "")
	}
	return v.show("login.html", "Sign in", "", loginForm{Next: ownPath(v.r.URL.Query().Get("next"))})
}

func (d *door) login(v *visit) error {
	form := loginForm{Email: v.r.PostFormValue("email"), Next: ownPath(v.r.PostFormValue("next"))}
	ticket, err := d.Operators.Login(v.ctx(), operators.Attempt{
		Email: form.Email, Password: v.r.PostFormValue("password"),
		Address: d.ClientAddr(v.r), Device: d.cookies.device(v.r),
	})
	if errors.Is(err, operators.ErrWrongLogin) {
		d.Log.WarnContext(v.ctx(), "a login to the dashboard failed", "address", d.ClientAddr(v.r).String())
		form.Fault = "The email address or the password is wrong."
		return v.answer(http.StatusUnauthorized, "login.html", "Sign in", "", form)
	}
	if err != nil {
		return err
	}
	if former := d.cookies.session(v.r); former != "" { // it is of no further use, whoever made it
		if err := d.Operators.Logout(v.ctx(), former); err != nil {
			return err
		}
	}
	d.cookies.set(v.w, ticket)
	http.Redirect(v.w, v.r, form.Next, http.StatusSeeOther)
	return nil
}

func (d *door) logout(v *visit) error {
	if err := d.Operators.Logout(v.ctx(), v.token); err != nil {
		return err
	}
	d.cookies.drop(v.w)
	return v.redirect(loginPath, "logged-out")
}
