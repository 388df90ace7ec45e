package admin

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"aanet/api/operators"
	"aanet/store"
)

// problem is a page that says why something was not done.
type problem struct {
	Status int
	Title  string
	Text   string
	About  string        // a path that shows what it is about; empty: there is none
	Wait   time.Duration // when to try again; 0: it is not said
}

func (p *problem) Error() string { return p.Title }

// Problems that need no details.
var (
	errNotFound  = &problem{Status: http.StatusNotFound, Title: "There is no such page", Text: "Or what it was about is gone."}
	errForeign   = &problem{Status: http.StatusForbidden, Title: "This did not come from our own page", Text: "Another site sent this form. Nothing was done."}
	errStaleForm = &problem{Status: http.StatusForbidden, Title: "This form belongs to another session", Text: "Nothing was done. Go back, load the page again and send it from there."}
)

// refuse answers with what an error means to an operator. What he need not know stays in the log.
func (v *visit) refuse(err error) {
	if errors.Is(err, errToLogin) {
		v.toLogin()
		return
	}
	p := problemOf(err)
	if p.Status == http.StatusInternalServerError {
		v.door.Log.ErrorContext(v.ctx(), "dashboard", "request_id", v.w.Header().Get("X-Request-Id"), "error", err.Error())
	}
	if p.Wait > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.Wait.Seconds()))))
	}
	if err := v.answer(p.Status, "problem.html", p.Title, "", p); err != nil {
		http.Error(v.w, p.Title, p.Status)
	}
}

// problemOf turns an error into the page that is shown for it.
func problemOf(err error) *problem {
	var p *problem
	var tooMany *operators.TooManyError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, operators.ErrForbidden):
		return &problem{Status: http.StatusForbidden, Title: "Your role does not allow this", Text: "Nothing was done. An admin can give you another role."}
	case isGone(err):
		return errNotFound
	case errors.As(err, &tooMany):
		return &problem{Status: http.StatusTooManyRequests, Title: "Too many logins have failed", Text: "Nothing was checked. Try again later.", Wait: tooMany.RetryAfter}
	case errors.Is(err, operators.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Title: "Too many logins are being checked", Text: "Try again in a moment.", Wait: 5 * time.Second}
	case errors.As(err, &tooLarge):
		return &problem{Status: http.StatusRequestEntityTooLarge, Title: "The form is too large", Text: "Nothing was done."}
	case errors.Is(err, store.ErrUnknown):
		return &problem{Status: http.StatusServiceUnavailable, Title: "It is not known whether it was done", Text: "The database went away in the middle. Look before you try again."}
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &problem{Status: http.StatusServiceUnavailable, Title: "The database does not answer", Text: "Nothing was done. Try again in a moment.", Wait: 5 * time.Second}
	}
	return &problem{Status: http.StatusInternalServerError, Title: "Something is wrong with the dashboard", Text: "What it is stands in the service's log, under the id of this request."}
}

// isGone tells whether an error means that what an address names is not there.
func isGone(err error) bool {
	for _, gone := range []error{store.ErrNoWorkspace, store.ErrNoRefund, store.ErrNoDeposit, store.ErrNoWebhook, store.ErrNoFeedback, store.ErrNoOperator} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
