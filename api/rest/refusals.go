package rest

import (
	"cmp"
	"regexp"
	"slices"

	"aanet/api"
)

var codeInDoc = regexp.MustCompile(`\b[A-Z]+(?:_[A-Z]+)*\b`)

// refusalsOf lists every code that an operation can answer, by status: what follows from who may call it
// and what it takes, and what its description names.
func refusalsOf(op *api.Op) []api.Code {
	known := api.Codes()
	found := map[api.Code]bool{
		api.InvalidArgument: true, api.HeadersTooLarge: true, api.Internal: true, api.Unavailable: true,
		api.UnsupportedMedia: true, api.Malformed: true, api.TooLarge: true, api.RateLimited: true,
	}
	if op.Who != api.Anyone {
		found[api.Unauthenticated] = true
		found[api.WorkspaceBlocked] = !op.WhileBlocked
	}
	found[api.NotFound] = op.InWorkspace()
	found[api.OwnerOnly] = op.Who == api.Owner
	found[api.TrialNotAllowed] = op.NotForTrials
	priced := op.Price.Base > 0 || op.Price.PerKiB > 0
	found[api.InsufficientBalance], found[api.BudgetExceeded], found[api.SpendLimitExceeded] = priced, priced, priced
	found[api.IdempotencyConflict] = op.TakesIdempotencyKey()
	_, fenced := op.In.Field("fencing_token")
	found[api.StaleFence] = fenced
	for _, word := range codeInDoc.FindAllString(op.Doc, -1) {
		if _, ok := known[api.Code(word)]; ok {
			found[api.Code(word)] = true
		}
	}
	var codes []api.Code
	for code, can := range found {
		if can {
			codes = append(codes, code)
		}
	}
	return byStatus(codes)
}

// byStatus sorts codes by HTTP status, then by name.
func byStatus(codes []api.Code) []api.Code {
	status := api.Codes()
	slices.SortFunc(codes, func(a, b api.Code) int {
		return cmp.Or(cmp.Compare(status[a], status[b]), cmp.Compare(a, b))
	})
	return codes
}
