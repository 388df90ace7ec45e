package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code names the kind of a refusal. Decide by it; the text beside it is for people.
type Code string

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

// Text is an extra field that is a string, such as current_etag; "" when it is absent, null or something else.
func (e *Error) Text(field string) string {
	s, _ := e.Extra[field].(string)
	return s
}

// IsCode tells whether err is a refusal with this code, or wraps one.
func IsCode(err error, code Code) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Code == code
}

// errorOf reads a refusal. What is no problem object (a proxy's page, say) leaves the code empty.
func errorOf(resp *http.Response, answer []byte) *Error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	var problem struct {
		Code   Code         `json:"code"`
		Detail string       `json:"detail"`
		Errors []FieldFault `json:"errors"`
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber() // a fencing token above 2^53 stays exact
	if json.Unmarshal(answer, &problem) != nil || decoder.Decode(&e.Extra) != nil || problem.Code == "" {
		e.Detail = fmt.Sprintf("%s, without a problem object", http.StatusText(resp.StatusCode))
		return e
	}
	e.Code, e.Detail, e.Fields = problem.Code, problem.Detail, problem.Errors
	for _, standard := range []string{"type", "title", "status", "code", "detail", "errors"} {
		delete(e.Extra, standard)
	}
	return e
}
