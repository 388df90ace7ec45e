package rest

import (
	"maps"
	"reflect"
	"slices"

	"aanet/api"
)

var taggedType = reflect.TypeFor[tagged]()

// problemSchema is RFC 9457's problem object with our code. Some codes add fields of their own.
func problemSchema() object {
	text := object{"type": "string"}
	return object{
		"type": "object",
		"properties": api.Properties{
			{Name: "type", Schema: text},
			{Name: "title", Schema: text},
			{Name: "status", Schema: object{"type": "integer"}},
			{Name: "code", Schema: object{"type": "string", "enum": append(byStatus(slices.Collect(maps.Keys(api.Codes()))), misdirectedCode)}},
			{Name: "detail", Schema: object{"type": "string", "description": "For people. Decide by code."}},
			{Name: "errors", Schema: object{
				"type": "array", "description": "With INVALID_ARGUMENT: every fault.",
				"items": object{"type": "object", "properties": object{"field": text, "message": text}, "required": []string{"field", "message"}},
			}},
			{Name: "current_etag", Schema: object{"type": []string{"string", "null"}, "description": "With CONFLICT; null when the file does not exist."}},
			{Name: "holder_subkey_id", Schema: object{"type": []string{"string", "null"}, "description": "With LOCK_HELD; null is the owner key."}},
			{Name: "lease_expires_at", Schema: object{"$ref": timestampReference, "description": "With LOCK_HELD: when it may be tried again."}},
			{Name: "reserved", Schema: object{"const": true, "description": "With LOCK_HELD: nobody holds the lock; it is kept for a call that waits for it."}},
			{Name: "required", Schema: object{"type": "integer", "description": "With 402: the price in units."}},
			{Name: "available", Schema: object{"type": "integer", "description": "With 402: the units that there are."}},
			{Name: "available_at", Schema: withDescription(orNull(object{"$ref": timestampReference}), "With SPEND_LIMIT_EXCEEDED: when the limit will let the call through; null: never.")},
			{Name: "retry_after", Schema: object{"type": "integer", "description": "Seconds after which to try again; the same as Retry-After."}},
			{Name: "last_seq", Schema: object{"type": "integer", "description": "With INVALID_ARGUMENT of wait: where the log ends."}},
			{Name: "reason", Schema: object{"type": "string", "description": "With PAYMENT_INVALID: what is wrong with the payment."}},
			{Name: "tx_hash", Schema: object{"type": "string", "description": "With PAYMENT_ALREADY_USED: the transaction of its deposit into this workspace, when it was one."}},
			{Name: "refundable", Schema: object{"type": "integer", "description": "With NOTHING_TO_REFUND: the units that could be refunded."}},
			{Name: "fee", Schema: object{"type": "integer", "description": "With NOTHING_TO_REFUND: the fee in units."}},
		},
		"required": []string{"type", "title", "status", "code", "detail"},
		"allOf":    fieldsOfCodes(),
	}
}

// alwaysWith are the fields that a refusal with a code never lacks.
var alwaysWith = []struct {
	codes  []api.Code
	fields []string
}{
	{[]api.Code{api.InvalidArgument}, []string{"errors"}},
	{[]api.Code{api.Conflict}, []string{"current_etag"}},
	{[]api.Code{api.LockHeld}, []string{"holder_subkey_id", "lease_expires_at"}},
	{[]api.Code{api.InsufficientBalance, api.BudgetExceeded}, []string{"required", "available"}},
	{[]api.Code{api.SpendLimitExceeded}, []string{"required", "available", "available_at"}},
	{[]api.Code{api.RateLimited, api.Unavailable, api.PaymentUnsettled}, []string{"retry_after"}},
	{[]api.Code{api.PaymentInvalid}, []string{"reason"}},
	{[]api.Code{api.NothingToRefund}, []string{"refundable", "fee"}},
}

// fieldsOfCodes says alwaysWith as conditions of a schema.
func fieldsOfCodes() (conditions []any) {
	for _, with := range alwaysWith {
		there := object{}
		for _, name := range with.fields {
			there[name] = object{}
		}
		conditions = append(conditions, object{
			"if":   object{"properties": object{"code": object{"enum": with.codes}}, "required": []string{"code"}},
			"then": object{"properties": there, "required": with.fields},
		})
	}
	return conditions
}

// timestampReference is the schema of every timestamp in an answer.
const timestampReference = "#/components/schemas/Timestamp"

func timestampSchema() object {
	return object{
		"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`,
		"description": "UTC with six fraction digits, so that the order of the texts is the order of the times.",
	}
}

func withDescription(schema object, text string) object {
	schema["description"] = text
	return schema
}

func headerObjects() object {
	header := func(kind, doc string) object { return object{"schema": object{"type": kind}, "description": doc} }
	always := func(kind, doc string) object {
		h := header(kind, doc)
		h["required"] = true
		return h
	}
	return object{
		"X-AANet-Cost":              always("integer", "Units charged for this call; 0 for every refusal."),
		"X-AANet-Remaining-Balance": header("integer", "Units that this key can still spend."),
		"X-AANet-Next-Offset":       header("integer", "With Accept: text/plain: the byte at which the rest of the file begins."),
		"X-Request-Id":              always("string", "Names this call in the operator's log."),
		"Idempotent-Replayed":       header("boolean", "true: this is the answer of an earlier call with the same Idempotency-Key."),
		"PAYMENT-RESPONSE":          header("string", "How the payment was settled: JSON in base64."),
		"ETag":                      header("string", "The file's version, quoted."),
		"Retry-After":               always("integer", "Seconds after which to try again."),
		"WWW-Authenticate":          always("string", "Bearer: send a key as Authorization: Bearer <key>."),
	}
}

// offerObject is the answer that says what has to be paid first.
func offerObject(op *api.Op) object {
	headers := headersOf(op)
	delete(headers, "PAYMENT-RESPONSE")
	headers["PAYMENT-REQUIRED"] = object{"schema": object{"type": "string"}, "description": "The body in base64."}
	schema := object{"type": "object", "required": []string{"x402Version", "accepts"}, "properties": object{
		"x402Version": object{"type": "integer"}, "resource": object{"type": "object"},
		"accepts": object{"type": "array", "items": object{"type": "object"}},
	}}
	return object{"description": op.Offer, "headers": headers, "content": object{typeJSON: object{"schema": schema, "example": exampleAnswer(op, "402")}}}
}

func headerReference(name string) object { return object{"$ref": "#/components/headers/" + name} }

// headersOf are the headers of a success.
func headersOf(op *api.Op) object {
	names := []string{"X-AANet-Cost", "X-Request-Id"}
	if op.Who != api.Anyone {
		names = append(names, "X-AANet-Remaining-Balance")
	}
	if op.TakesIdempotencyKey() {
		names = append(names, "Idempotent-Replayed")
	}
	if hasEtag(op) {
		names = append(names, "ETag")
	}
	if hasEtag(op) && op.Method == "GET" {
		names = append(names, "X-AANet-Next-Offset")
	}
	if op.Offer != "" {
		names = append(names, "PAYMENT-RESPONSE")
	}
	headers := object{}
	for _, name := range names {
		headers[name] = headerReference(name)
	}
	return headers
}

// misdirectedObject is the answer to a Host header that the service does not go by.
func misdirectedObject() object {
	return object{
		"description": misdirectedCode + ": " + misdirectedText,
		"headers":     object{"X-AANet-Cost": headerReference("X-AANet-Cost"), "X-Request-Id": headerReference("X-Request-Id")},
		"content":     object{typeProblem: object{"schema": object{"$ref": "#/components/schemas/Problem"}}},
	}
}
