package admin

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"aanet/api"
	"aanet/api/operators"
	"aanet/store"

	"github.com/google/uuid"
)

const (
	feedbackPath = Root + "/feedback"
	notesMax     = 4000 // characters
)

func (d *door) feedbackRoutes() []route {
	return []route{
		{"GET " + feedbackPath, store.RoleViewer, d.feedbackList},
		{"GET " + feedbackPath + "/{id}", store.RoleViewer, d.showFeedback},
		{"POST " + feedbackPath + "/{id}", store.RoleOperator, d.triage},
	}
}

// pledged is the key of the list: the pledge first.
type pledged struct {
	USD string
	At  time.Time
	ID  uuid.UUID
}

var decimal = regexp.MustCompile(`^\d{1,10}(\.\d{1,2})?$`)

func (d *door) feedbackList(v *visit) error {
	status := v.r.URL.Query().Get("status")
	if !slices.Contains(store.FeedbackStates(), status) {
		status = store.FeedbackOpen
	}
	var key pledged
	var after *store.Feedback
	if v.after(&key) && decimal.MatchString(key.USD) {
		after = &store.Feedback{PledgedUSD: key.USD, CreatedAt: key.At, ID: key.ID}
	}
	list, err := d.Store.FeedbackPage(v.ctx(), status, after, pageRows+1)
	if err != nil {
		return err
	}
	list, leads, err := pages(v, list, func(f store.Feedback) any { return pledged{f.PledgedUSD, f.CreatedAt, f.ID} })
	if err != nil {
		return err
	}
	return v.show("feedback_list.html", "Feedback", feedbackPath, struct {
		Status string
		States []string
		List   []store.Feedback
		Pager  pager
	}{status, store.FeedbackStates(), list, leads})
}

type feedbackPage struct {
	Feedback store.Feedback
	Form     form
}

func (d *door) showFeedback(v *visit) error {
	id, err := v.id("id")
	if err != nil {
		return err
	}
	f, err := d.Store.FindFeedback(v.ctx(), id)
	if err != nil {
		return err
	}
	return v.show("feedback.html", "Feedback", feedbackPath, feedbackPage{f, v.filled(triageForm(f))})
}

func triageForm(f store.Feedback) form {
	var states []choice
	for _, s := range store.FeedbackStates() {
		states = append(states, choice{s, s})
	}
	return form{Action: feedbackPath + "/" + f.ID.String(), Button: "Save", Fields: []*field{
		{Name: "status", Label: "Status", Kind: "select", Value: f.Status, Choices: states},
		{Name: "notes", Label: "Notes", Kind: "textarea", Value: f.Notes, Max: notesMax, Hint: "For operators only; the one who wrote the feedback never sees them."},
	}}
}

func (d *door) triage(v *visit) error {
	id, err := v.id("id")
	if err != nil {
		return err
	}
	f, err := d.Store.FindFeedback(v.ctx(), id)
	if err != nil {
		return err
	}
	status, notes := v.r.PostFormValue("status"), strings.ReplaceAll(v.r.PostFormValue("notes"), "\r\n", "\n")
	switch fault := api.TextFault(notes, 0, notesMax, true); {
	case !slices.Contains(store.FeedbackStates(), status):
		err = &operators.InputError{Field: "status", Fault: "must be one of these"}
	case fault != "":
		err = &operators.InputError{Field: "notes", Fault: fault}
	default:
		err = d.Store.TriageFeedback(v.ctx(), v.act(""), f, status, notes)
	}
	if err != nil {
		again := v.filled(triageForm(f))
		if !again.blame(err) {
			return err
		}
		return v.answer(422, "feedback.html", "Feedback", feedbackPath, feedbackPage{f, again})
	}
	return v.redirect(feedbackPath+"/"+id.String(), "saved")
}
