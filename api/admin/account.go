package admin

import (
	"bytes"
	"errors"
	"net/http"

	"aanet/api/operators"
	"aanet/store"
)

const accountPath = Root + "/account"

func (d *door) accountRoutes() []route {
	return []route{
		{"GET " + accountPath, store.RoleViewer, d.account},
		{"POST " + accountPath + "/password", store.RoleViewer, d.changePassword},
		{"POST " + accountPath + "/logout-everywhere", store.RoleViewer, d.logoutEverywhere},
	}
}

// accountPage is one's own account.
type accountPage struct {
	Sessions           []ownSession
	Password, Everyone form
}

type ownSession struct {
	store.Session
	This bool
}

func passwordForm() form {
	return form{Action: accountPath + "/password", Button: "Change the password", Fields: []*field{
		{Name: "old", Label: "Password now", Kind: "password", Required: true, Complete: "current-password"},
		passwordField("New password"),
	}}
}

func (d *door) account(v *visit) error {
	return d.showAccount(v, http.StatusOK, v.filled(passwordForm()))
}

func (d *door) showAccount(v *visit, status int, f form) error {
	sessions, err := d.Operators.Sessions(v.ctx(), v.me.ID)
	if err != nil {
		return err
	}
	page := accountPage{Password: f, Everyone: v.filled(form{Action: accountPath + "/logout-everywhere", Button: "Sign out everywhere"})}
	for _, s := range sessions {
		page.Sessions = append(page.Sessions, ownSession{s, bytes.Equal(s.TokenHash, v.session.TokenHash)})
	}
	return v.answer(status, "account.html", "Your account", accountPath, page)
}

func (d *door) changePassword(v *visit) error {
	err := d.Operators.ChangePassword(v.ctx(), v.act(""), v.me, v.token, v.r.PostFormValue("old"), v.r.PostFormValue("password"))
	if errors.Is(err, operators.ErrWrongLogin) {
		err = &operators.InputError{Field: "old", Fault: "this is not your password"}
	}
	if err != nil {
		f := v.filled(passwordForm())
		if !f.blame(err) {
			return err
		}
		return d.showAccount(v, http.StatusUnprocessableEntity, f)
	}
	return v.redirect(accountPath, "password-changed")
}

func (d *door) logoutEverywhere(v *visit) error {
	if err := d.Operators.LogoutEverywhere(v.ctx(), v.act(""), v.me.ID); err != nil {
		return err
	}
	d.cookies.drop(v.w)
	return v.redirect(loginPath, "logged-out")
}
