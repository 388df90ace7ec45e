package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
)

// Code names the kind of a refusal. Callers decide by it; the text beside it is for people.
type Code string

// The refusals; meanings has the HTTP status of each.
const (
	Malformed           Code = "MALFORMED"
	Unauthenticated     Code = "UNAUTHENTICATED"
	InsufficientBalance Code = "INSUFFICIENT_BALANCE"
	BudgetExceeded      Code = "BUDGET_EXCEEDED"
	OwnerOnly           Code = "OWNER_ONLY"
	ScopeDenied         Code = "SCOPE_DENIED"
	SpendLimitExceeded  Code = "SPEND_LIMIT_EXCEEDED"
	WorkspaceBlocked    Code = "WORKSPACE_BLOCKED"
	NotLockHolder       Code = "NOT_LOCK_HOLDER"
	TrialNotAllowed     Code = "TRIAL_NOT_ALLOWED"
	NotFound            Code = "NOT_FOUND"
	MethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	Conflict            Code = "CONFLICT"
	IsDirectory         Code = "IS_DIRECTORY"
	NotADirectory       Code = "NOT_A_DIRECTORY"
	StaleFence          Code = "STALE_FENCE"
	IdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	LockHeld            Code = "LOCK_HELD"
	RefundPending       Code = "REFUND_PENDING"
	DepositPending      Code = "DEPOSIT_PENDING"
	SubkeyRevoked       Code = "SUBKEY_REVOKED"
	SubkeyLimit         Code = "SUBKEY_LIMIT"
	WebhookLimit        Code = "WEBHOOK_LIMIT"
	WebhookDisabled     Code = "WEBHOOK_DISABLED"
	PaymentAlreadyUsed  Code = "PAYMENT_ALREADY_USED"
	NothingToRefund     Code = "NOTHING_TO_REFUND"
	PaymentInvalid      Code = "PAYMENT_INVALID"
	FacilitatorError    Code = "FACILITATOR_ERROR"
	PaymentUnsettled    Code = "PAYMENT_UNSETTLED"
	TooLarge            Code = "TOO_LARGE"
	UnsupportedMedia    Code = "UNSUPPORTED_MEDIA_TYPE"
	InvalidArgument     Code = "INVALID_ARGUMENT"
	RateLimited         Code = "RATE_LIMITED"
	HeadersTooLarge     Code = "HEADERS_TOO_LARGE"
	Internal            Code = "INTERNAL"
	Unavailable         Code = "UNAVAILABLE"
)

// meaning is what a code says by itself: its HTTP status and what the caller should do.
type meaning struct {
	status int
	detail string
}

var meanings = map[Code]meaning{
	Malformed:           {400, "The body is not one valid JSON object."},
	Unauthenticated:     {401, "No valid key was presented. Send Authorization: Bearer <key>; ask the workspace's owner for a new key if this one was revoked or its workspace is gone."},
	InsufficientBalance: {402, "The workspace's balance does not cover this call. The owner can deposit more."},
	BudgetExceeded:      {402, "This key's budget cap does not cover this call. The owner can raise the cap."},
	SpendLimitExceeded:  {402, "This key's spend limit does not cover this call now. It will at available_at, if nothing else is spent; null: the price is above the limit."},
	OwnerOnly:           {403, "Only the owner key may do this."},
	ScopeDenied:         {403, "This is outside the path scope of this key."},
	WorkspaceBlocked:    {403, "The operator has blocked this workspace. Free reads and releasing locks still work."},
	NotLockHolder:       {403, "Another key holds this lock. Only its holder may renew or release it."},
	TrialNotAllowed:     {403, "Trial workspaces cannot do this. Create a regular workspace."},
	NotFound:            {404, "There is no such thing here."},
	MethodNotAllowed:    {405, "This address does not take this method; Allow lists those it takes."},
	Conflict:            {409, "The file is not in the state that the call expects. Read it again and retry with current_etag."},
	IsDirectory:         {409, "There are files below this path, so it is a directory."},
	NotADirectory:       {409, "A part of this path is a file, so nothing can be below it."},
	LockHeld:            {409, "Another key holds this lock until lease_expires_at. Try again after it."},
	StaleFence:          {409, "This key does not hold lock_name with this fencing_token, or its lease has run out. Nothing was changed: acquire the lock again and look at what was done meanwhile."},
	IdempotencyConflict: {409, "This idempotency key was used for another call within 24 hours. Take a new key for a new call."},
	RefundPending:       {409, "A refund is pending. Wait until it is paid or rejected."},
	DepositPending:      {409, "A deposit is still open. Wait until it is credited or failed."},
	SubkeyRevoked:       {409, "This sub-key is revoked."},
	SubkeyLimit:         {409, "This workspace has 10,000 sub-keys, which is the limit."},
	WebhookLimit:        {409, "A workspace may have 5 active webhooks, and 50 in all. Delete one that is not needed."},
	WebhookDisabled:     {409, "This webhook is disabled. Enable it first."},
	PaymentAlreadyUsed:  {409, "This payment was used before and credits nothing more. tx_hash is that of its deposit into this workspace, when it was one."},
	NothingToRefund:     {409, "Nothing would be paid out: what can be refunded does not exceed the fee (units)."},
	PaymentInvalid:      {422, "The payment is not valid; reason tells why. Nothing was sent to settle it."},
	FacilitatorError:    {502, "No facilitator answered. Nothing was sent to settle: send the same signature again."},
	PaymentUnsettled:    {503, "The payment was sent to settle and its outcome is open. Send the SAME signature again after retry_after seconds, never a new one."},
	TooLarge:            {413, "A file may have 1,048,576 bytes of UTF-8, a request body 8 MiB."},
	UnsupportedMedia:    {415, "Send the body with Content-Type: application/json, in UTF-8 and without Content-Encoding."},
	InvalidArgument:     {422, "The input is not acceptable; errors lists every fault."},
	RateLimited:         {429, "Too many calls. Wait for retry_after seconds."},
	HeadersTooLarge:     {431, "The request headers may have 16 KiB in all."},
	Internal:            {500, "The fault is ours and was logged under this request id."},
	Unavailable:         {503, "The service cannot take this call now; retry after retry_after seconds. If this call changes something, check whether it happened first."},
}

// Codes lists every refusal code with its HTTP status, for the documentation.
func Codes() map[Code]int {
	out := make(map[Code]int, len(meanings))
	for code, m := range meanings {
		out[code] = m.status
	}
	return out
}

// Describe is the sentence that explains a code when there is nothing more exact to say.
func Describe(code Code) string { return meanings[code].detail }

// FieldFault is one fault of the input. Message never repeats the value.
type FieldFault struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Refusal is the one kind of error that leaves the service: a problem object of RFC 9457 with code.
type Refusal struct {
	Code   Code
	Detail string
	Errors []FieldFault   // for INVALID_ARGUMENT: every fault
	Extra  map[string]any // the code's extra fields
}

// Refuse makes a refusal with the code's own sentence.
func Refuse(code Code) *Refusal { return &Refusal{Code: code, Detail: meanings[code].detail} }

// refusef makes a refusal with a more exact sentence.
func refusef(code Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (r *Refusal) with(field string, value any) *Refusal {
	if r.Extra == nil {
		r.Extra = map[string]any{}
	}
	r.Extra[field] = value
	return r
}

// Error makes a refusal an error; the text is safe to show.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Detail }

// Status is the HTTP status of the refusal.
func (r *Refusal) Status() int {
	if m, ok := meanings[r.Code]; ok {
		return m.status
	}
	return http.StatusInternalServerError
}

// RetryAfter is the number of seconds after which to try again, 0 when the refusal does not say.
func (r *Refusal) RetryAfter() int {
	switch n := r.Extra["retry_after"].(type) {
	case int:
		return n
	case float64: // from a SQL function's JSON
		return int(n)
	}
	switch r.Code {
	case Unavailable, RateLimited:
		return 1
	case PaymentUnsettled:
		return paymentRetry
	}
	return 0
}

// MarshalJSON gives the problem object, the same on both doors.
func (r *Refusal) MarshalJSON() ([]byte, error) {
	problem := maps.Clone(r.Extra)
	if problem == nil {
		problem = map[string]any{}
	}
	problem["type"] = "about:blank"
	problem["title"] = http.StatusText(r.Status())
	problem["status"] = r.Status()
	problem["code"] = r.Code
	problem["detail"] = r.Detail
	if seconds := r.RetryAfter(); seconds > 0 {
		problem["retry_after"] = seconds // MCP has no header for it
	}
	if r.Errors != nil {
		problem["errors"] = r.Errors
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(problem); err != nil {
		return nil, fmt.Errorf("problem object: %w", err)
	}
	return b.Bytes(), nil
}
