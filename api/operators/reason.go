package operators

import (
	"strings"

	"aanet/api"
)

// ReasonMax is how many characters a reason may have.
const ReasonMax = 500

// Reason checks the reason of an action. Error: *InputError.
func Reason(text string, required bool) (string, error) {
	text = strings.TrimSpace(text)
	least := 0
	if required {
		least = 1
	}
	if fault := api.TextFault(text, least, ReasonMax, false); fault != "" {
		return "", &InputError{"reason", fault}
	}
	return text, nil
}
