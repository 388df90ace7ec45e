package api

import (
	"slices"
	"strconv"
	"strings"

	"aanet/billing"
)

// checks are the named rules of string inputs (Field.Check). Each returns the fault, "" when there is none.
var checks = map[string]func(string) string{
	"path":           PathFault,
	"directory":      directoryFault,
	"scope":          ScopeFault,
	"lock":           LockNameFault,
	"topic":          TopicFault,
	"label":          func(s string) string { return TextFault(s, 1, 200, false) },
	"title":          func(s string) string { return TextFault(s, 1, 200, false) },
	"prose":          func(s string) string { return TextFault(s, 1, 4000, true) },
	"content":        ContentFault,
	"etag":           etagFault,
	"timestamp":      timestampFault,
	"category":       oneOf("bug", "feature", "pricing", "other"),
	"refund_network": oneOf("base", "solana"),
	"group":          oneOf("subkey_operation", "subkey", "operation"),
	"pledge":         pledgeFault,
	"recipient":      recipientFault,
	"amount":         amountFault,
	"id":             func(string) string { return "" }, // one that nothing has is not found, however it is written
	"word":           func(s string) string { return TextFault(s, 0, 255, false) },
	"cursor":         cursorFault,
	"idempotency":    idempotencyFault,
	"events":         eventTypesFault,
}

// spellings give values that may be written in two ways their one form, so that rules, and the identity of a
// call with an idempotency key, know no other. They follow the check of the same name.
var spellings = map[string]func(string) string{
	"etag":  bareEtag,
	"scope": NormalizeScope,
}

// bareEtag drops the quotes that the check allowed.
func bareEtag(ifMatch string) string {
	etag, _ := ParseIfMatch(ifMatch)
	return etag
}

// directoryFault is PathFault that also takes the root, "" or "/".
func directoryFault(s string) string {
	if s == "" || s == "/" {
		return ""
	}
	return PathFault(s)
}

// cursorFault takes an entry of a directory as it is shown: one segment, with a slash behind a directory's.
// Anything longer would make a page begin inside a directory and list it once more.
func cursorFault(s string) string {
	if fault := PathFault(strings.TrimSuffix(s, "/")); fault != "" {
		return fault
	}
	if strings.Contains(strings.TrimSuffix(s, "/"), "/") {
		return "must be an entry of the directory, as next_after gave it"
	}
	return ""
}

func etagFault(s string) string {
	if _, ok := ParseIfMatch(s); !ok {
		return "must be one etag as it was given, bare or in double quotes"
	}
	return ""
}

func timestampFault(s string) string {
	_, fault := ParseTime(s)
	return fault
}

const pledgeMax = 1_000_000_000 * billing.PerUSD

func pledgeFault(s string) string {
	pledge, err := billing.ParseUSD(s, 2)
	if err != nil || pledge > pledgeMax {
		return `must be dollars as a decimal string with at most two decimals, "0" to "1000000000"`
	}
	return ""
}

func oneOf(words ...string) func(string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	message := "must be one of " + strings.Join(quoted, ", ")
	return func(s string) string {
		if slices.Contains(words, s) {
			return ""
		}
		return message
	}
}

// recipientFault refuses an empty id: it must never be taken for "everybody".
func recipientFault(s string) string {
	if s == "" {
		return "must be a sub-key's id, or null for everybody"
	}
	return ""
}
