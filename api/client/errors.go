package client

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrNotReached is wrapped by the error of a call that got no answer, or not all of it. What became of the call is open
// unless it was a read.
var ErrNotReached = errors.New("client: no answer")

// Code names the kind of a refusal. Decide by it; the text beside it is for people. A code is an error, so that errors.Is
// finds it in a refusal.
type Code string

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// FieldFault is one fault of the input.
type FieldFault struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a refusal of the service, as its problem object (RFC 9457) tells it. A refusal is free and changed nothing;
// only UNAVAILABLE and INTERNAL leave open what happened.
type Error struct {
	Status     int            // of HTTP
	Code       Code           // "" when what answered was not the service
	Detail     string         // a sentence for people
	Fields     []FieldFault   // with INVALID_ARGUMENT: every fault of the input
	Extra      map[string]any // the code's own fields, such as current_etag; numbers are json.Number
	RequestID  string         // names the call to the operator
	RetryAfter time.Duration  // when to try again; 0 when the service does not say
}

// Error gives status, code, sentence and the faults of the input.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", e.Status)
	if e.Code != "" {
		fmt.Fprintf(&b, " %s", e.Code)
	}
	fmt.Fprintf(&b, ": %s", e.Detail)
	for i, fault := range e.Fields {
		separator := ";"
		if i == 0 {
			separator = ""
		}
		fmt.Fprintf(&b, "%s %s %s", separator, fault.Field, fault.Message)
	}
	return b.String()
}

// Is tells errors.Is whether target is this refusal's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e.Code == code
}

// Text is an extra field that is a string, such as current_etag; "" when it is absent, null or something else.
func (e *Error) Text(field string) string {
	s, _ := e.Extra[field].(string)
	return s
}

// IsCode tells whether err is a refusal with this code, or wraps one.
func IsCode(err error, code Code) bool { return errors.Is(err, code) }

// Temporary tells whether the same call may succeed later without anything being changed: nobody answered, or the service
// cannot take it now. It does not tell whether repeating is safe.
func Temporary(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusTooManyRequests || isAway(refusal.Status)
	}
	var untrusted *tls.CertificateVerificationError
	return errors.Is(err, ErrNotReached) && !errors.As(err, &untrusted)
}

// isAway tells whether a status is that of a service, or of what stands before it, that cannot do its work now.
func isAway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// errorOf reads a refusal. What is no problem object (a proxy's page, say) leaves the code empty.
func errorOf(resp *http.Response, answer []byte) *Error {
	e := problemOf(answer)
	if e.Code == "" {
		e.Detail = fmt.Sprintf("%s, without a problem object", http.StatusText(resp.StatusCode))
	}
	e.Status, e.RequestID = resp.StatusCode, resp.Header.Get("X-Request-Id")
	if pause := pauseOf(resp.Header.Get("Retry-After")); pause > 0 {
		e.RetryAfter = pause
	}
	return e
}

// problemOf reads a problem object; one that is none has no code.
func problemOf(text []byte) *Error {
	var problem struct {
		Status     int          `json:"status"`
		Code       Code         `json:"code"`
		Detail     string       `json:"detail"`
		Errors     []FieldFault `json:"errors"`
		RetryAfter float64      `json:"retry_after"`
	}
	e := &Error{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a fencing token above 2^53 stays exact
	if json.Unmarshal(text, &problem) != nil || problem.Code == "" || decoder.Decode(&e.Extra) != nil {
		return &Error{}
	}
	e.Status, e.Code, e.Detail, e.Fields = problem.Status, problem.Code, problem.Detail, problem.Errors
	e.RetryAfter = time.Duration(problem.RetryAfter * float64(time.Second))
	for _, standard := range []string{"type", "title", "status", "code", "detail", "errors", "retry_after"} {
		delete(e.Extra, standard)
	}
	return e
}

// pauseOf reads Retry-After, which is a number of seconds or, from a proxy, a date.
func pauseOf(header string) time.Duration {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now()))
	}
	return 0
}
