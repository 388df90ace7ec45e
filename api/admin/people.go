package admin

import (
	"errors"
	"net/http"

	"aanet/api/operators"
	"aanet/store"
)

const operatorsPath = Root + "/operators"

func (d *door) peopleRoutes() []route {
	return []route{
		{"GET " + operatorsPath, store.RoleAdmin, d.people},
		{"POST " + operatorsPath, store.RoleAdmin, d.createOperator},
		{"GET " + operatorsPath + "/{id}", store.RoleAdmin, d.showOperator},
		{"POST " + operatorsPath + "/{id}/role", store.RoleAdmin, d.setRole},
		{"POST " + operatorsPath + "/{id}/password", store.RoleAdmin, d.setPassword},
		{"GET " + operatorsPath + "/{id}/disable", store.RoleAdmin, d.askDisable(true)},
		{"POST " + operatorsPath + "/{id}/disable", store.RoleAdmin, d.disable(true)},
		{"GET " + operatorsPath + "/{id}/enable", store.RoleAdmin, d.askDisable(false)},
		{"POST " + operatorsPath + "/{id}/enable", store.RoleAdmin, d.disable(false)},
	}
}

func roleChoices() (all []choice) {
	says := map[store.Role]string{
		store.RoleViewer:   "viewer: sees",
		store.RoleOperator: "operator: does the daily work too",
		store.RoleAdmin:    "admin: manages operators too",
	}
	for _, r := range store.Roles() {
		all = append(all, choice{string(r), says[r]})
	}
	return all
}

func passwordField(label string) *field {
	return &field{Name: "password", Label: label, Kind: "password", Required: true, Complete: "new-password", Hint: "12 to 200 characters."}
}

func newOperatorForm() form {
	return form{Action: operatorsPath, Button: "Create", Fields: []*field{
		{Name: "email", Label: "Email address", Kind: "email", Required: true, Max: 254},
		{Name: "name", Label: "Name", Max: 100},
		{Name: "role", Label: "Role", Kind: "select", Value: string(store.RoleOperator), Choices: roleChoices()},
		passwordField("First password"),
	}}
}

type peoplePage struct {
	All  []store.Operator
	Form form
}

func (d *door) people(v *visit) error {
	return d.showPeople(v, http.StatusOK, v.filled(newOperatorForm()))
}

func (d *door) showPeople(v *visit, status int, f form) error {
	all, err := d.Store.Operators(v.ctx())
	if err != nil {
		return err
	}
	return v.answer(status, "people.html", "Operators", operatorsPath, peoplePage{all, f})
}

func (d *door) createOperator(v *visit) error {
	made, err := d.Operators.Create(v.ctx(), v.act(""), operators.NewOperator{
		Email: v.r.PostFormValue("email"), Name: v.r.PostFormValue("name"), Role: store.Role(v.r.PostFormValue("role")), Password: v.r.PostFormValue("password"),
	})
	if errors.Is(err, store.ErrOperatorExists) {
		err = &operators.InputError{Field: "email", Fault: "an operator has this address already"}
	}
	if err != nil {
		f := v.filled(newOperatorForm())
		if !f.blame(err) {
			return err
		}
		return d.showPeople(v, http.StatusUnprocessableEntity, f)
	}
	return v.redirect(operatorsPath+"/"+made.ID.String(), "operator-created")
}

// personPage is one operator, where he is logged in, and what can be done about it.
type personPage struct {
	Person         store.Operator
	Sessions       []store.Session
	Role, Password form
}

// personOf reads the operator of the address.
func (d *door) personOf(v *visit) (store.Operator, error) {
	id, err := v.id("id")
	if err != nil {
		return store.Operator{}, err
	}
	return d.Store.OperatorByID(v.ctx(), id)
}

func (d *door) showOperator(v *visit) error {
	o, err := d.personOf(v)
	if err != nil {
		return err
	}
	return d.answerPerson(v, o, nil)
}

// answerPerson shows an operator; fault, when given, is about one of the forms.
func (d *door) answerPerson(v *visit, o store.Operator, fault error) error {
	sessions, err := d.Operators.Sessions(v.ctx(), o.ID)
	if err != nil {
		return err
	}
	base := operatorsPath + "/" + o.ID.String()
	page := personPage{Person: o, Sessions: sessions,
		Role:     v.filled(form{Action: base + "/role", Button: "Change the role", Fields: []*field{{Name: "role", Label: "Role", Kind: "select", Value: string(o.Role), Choices: roleChoices()}}}),
		Password: v.filled(form{Action: base + "/password", Button: "Set the password", Fields: []*field{passwordField("New password")}}),
	}
	status := http.StatusOK
	if fault != nil {
		if page.Role.Fields[0].Value = string(o.Role); !page.Role.blame(fault) && !page.Password.blame(fault) {
			return fault
		}
		status = http.StatusUnprocessableEntity
	}
	return v.answer(status, "person.html", o.Email, operatorsPath, page)
}

// lastAdmin says why the one admin left stays one.
var lastAdmin = &problem{Status: http.StatusConflict, Title: "This is the last admin", Text: "Nothing was done: nobody would be left who can manage operators. Make somebody else an admin first."}

// changed answers a change of an operator.
func (d *door) changed(v *visit, o store.Operator, err error, message string) error {
	switch {
	case errors.Is(err, store.ErrLastAdmin):
		return lastAdmin
	case err != nil:
		return d.answerPerson(v, o, err)
	}
	return v.redirect(operatorsPath+"/"+o.ID.String(), message)
}

func (d *door) setRole(v *visit) error {
	o, err := d.personOf(v)
	if err != nil {
		return err
	}
	return d.changed(v, o, d.Operators.SetRole(v.ctx(), v.act(""), o.ID, store.Role(v.r.PostFormValue("role"))), "role-changed")
}

func (d *door) setPassword(v *visit) error {
	o, err := d.personOf(v)
	if err != nil {
		return err
	}
	return d.changed(v, o, d.Operators.SetPassword(v.ctx(), v.act(""), o.ID, v.r.PostFormValue("password")), "password-set")
}

func disableForm(o store.Operator, disable bool) asked {
	a := asked{Facts: []fact{{"Email address", o.Email}, {"Role", string(o.Role)}}, Form: form{Back: operatorsPath + "/" + o.ID.String(), Fields: []*field{reasonField("Kept in the audit log.")}}}
	if disable {
		a.Title, a.Form.Button, a.Form.Danger = "Disable this operator", "Disable", true
		a.Points = []string{"All sessions end at once, and there can be no new ones.", "What this operator did stays in the audit log. You can enable the account again."}
		return a
	}
	a.Title, a.Form.Button = "Enable this operator", "Enable"
	a.Points = []string{"The operator can sign in again, with the former password and role."}
	return a
}

func (d *door) askDisable(disable bool) func(*visit) error {
	return func(v *visit) error {
		o, err := d.personOf(v)
		if err != nil {
			return err
		}
		return v.ask(operatorsPath, disableForm(o, disable))
	}
}

func (d *door) disable(disable bool) func(*visit) error {
	return func(v *visit) error {
		o, err := d.personOf(v)
		if err != nil {
			return err
		}
		reason, err := operators.Reason(v.r.PostFormValue("reason"), true)
		if err != nil {
			return v.refusedInput(err, operatorsPath, disableForm(o, disable))
		}
		if disable {
			return d.changed(v, o, d.Operators.Disable(v.ctx(), v.act(reason), o.ID), "operator-disabled")
		}
		return d.changed(v, o, d.Operators.Enable(v.ctx(), v.act(reason), o.ID), "operator-enabled")
	}
}
