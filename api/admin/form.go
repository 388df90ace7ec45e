package admin

import (
	"errors"
	"net/http"

	"aanet/api/operators"
)

// form is what an operator fills in. Its template writes the session's token.
type form struct {
	Token          string
	Action, Button string
	Danger         bool
	Back           string // where the link that does nothing leads; empty: there is none
	Hidden         []hidden
	Fields         []*field
}

type hidden struct{ Name, Value string }

// field is one input of a form.
type field struct {
	Name, Label, Hint, Value, Fault string
	Kind                            string // an input's type, textarea, select or checkbox; empty: text
	Choices                         []choice
	Required                        bool
	Max                             int    // characters
	Complete                        string // autocomplete
}

type choice struct{ Value, Text string }

// filled makes a form ready to be shown: with the session's token, and with what was sent, if something was.
func (v *visit) filled(f form) form {
	if v.token != "" {
		f.Token = operators.FormToken(v.token)
	}
	if v.r.Method == http.MethodPost {
		for _, one := range f.Fields {
			if one.Kind != "password" {
				one.Value = v.r.PostFormValue(one.Name)
			}
		}
	}
	return f
}

// blame puts what is wrong with an input beside its field. False: the error is about none of them.
func (f form) blame(err error) bool {
	var input *operators.InputError
	if !errors.As(err, &input) {
		return false
	}
	for _, one := range f.Fields {
		if one.Name == input.Field {
			one.Fault = input.Fault
			return true
		}
	}
	return false
}

// reasonField asks why.
func reasonField(hint string) *field {
	return &field{Name: "reason", Label: "Reason", Hint: hint, Required: true, Max: operators.ReasonMax}
}

// asked is the page before something that cannot be taken back, or that somebody will notice: it says what will happen.
type asked struct {
	Title  string
	Facts  []fact
	Points []string
	Form   form
}

type fact struct{ Name, Value string }

// ask shows the page; the form then posts to the same address.
func (v *visit) ask(here string, a asked) error { return v.askAgain(http.StatusOK, here, a) }

func (v *visit) askAgain(status int, here string, a asked) error {
	a.Form.Action = v.r.URL.Path
	a.Form = v.filled(a.Form)
	return v.answer(status, "ask.html", a.Title, here, a)
}

// refusedInput shows the page again with what is wrong, or hands on an error that is about something else.
func (v *visit) refusedInput(err error, here string, a asked) error {
	if !a.Form.blame(err) {
		return err
	}
	return v.askAgain(http.StatusUnprocessableEntity, here, a)
}
