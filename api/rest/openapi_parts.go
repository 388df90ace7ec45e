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
			{Name: "code", Schema: object{"type": "string", "enum": byStatus(slices.Collect(maps.Keys(api.Codes())))}},
			{Name: "detail", Schema: object{"type": "string", "description": "For people. Decide by code."}},
			{Name: "errors", Schema: object{
				"type": "array", "description": "With INVALID_ARGUMENT: every fault.",
				"items": object{"type": "object", "properties": object{"field": text, "message": text}, "required": []string{"field", "message"}},
			}},
			{Name: "current_etag", Schema: object{"type": []string{"string", "null"}, "description": "With CONFLICT; null when the file does not exist."}},
			{Name: "holder_subkey_id", Schema: object{"type": []string{"string", "null"}, "description": "With LOCK_HELD; null is the owner key."}},
			{Name: "lease_expires_at", Schema: object{"type": "string", "format": "date-time", "description": "With LOCK_HELD."}},
			{Name: "required", Schema: object{"type": "integer", "description": "With 402: the price in units."}},
			{Name: "available", Schema: object{"type": "integer", "description": "With 402: the units that there are."}},
			{Name: "available_at", Schema: object{"type": []string{"string", "null"}, "format": "date-time", "description": "With SPEND_LIMIT_EXCEEDED: when the limit will let the call through; null: never."}},
		},
		"required": []string{"type", "title", "status", "code", "detail"},
	}
}

func headerObjects() object {
	header := func(kind, doc string) object { return object{"schema": object{"type": kind}, "description": doc} }
	return object{
		"X-AANet-Cost":              header("integer", "Units charged for this call; 0 for every refusal."),
		"X-AANet-Remaining-Balance": header("integer", "Units that this key can still spend."),
		"X-AANet-Next-Offset":       header("integer", "With Accept: text/plain: the byte at which the rest of the file begins."),
		"X-Request-Id":              header("string", "Names this call in the operator's log."),
		"Idempotent-Replayed":       header("boolean", "true: this is the answer of an earlier call with the same Idempotency-Key."),
		"ETag":                      header("string", "The file's version, quoted."),
		"Retry-After":               header("integer", "Seconds after which to try again."),
	}
}

// offerObject is the answer that says what has to be paid first.
func offerObject(op *api.Op) object {
	headers := headersOf(op)
	headers["PAYMENT-REQUIRED"] = object{"schema": object{"type": "string"}, "description": "The body in base64."}
	schema := object{"type": "object", "required": []string{"x402Version", "accepts"}, "properties": object{
		"x402Version": object{"type": "integer"}, "resource": object{"type": "object"},
		"accepts": object{"type": "array", "items": object{"type": "object"}},
	}}
	return object{"description": op.Offer, "headers": headers, "content": object{typeJSON: object{"schema": schema}}}
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
	headers := object{}
	for _, name := range names {
		headers[name] = headerReference(name)
	}
	return headers
}
