package api

import (
	"context"

	"aanet/billing"
	"aanet/store"
)

const activityPath = workspacePath + "/activity"

func activityOps() []*Op {
	return []*Op{
		op(Def{
			Name: "get_activity", Log: "GET_ACTIVITY", Method: "GET", Path: activityPath, Who: Owner, Price: billing.PriceOf("get_activity"),
			WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Read the log of what was attempted.",
			Doc: `The log, newest first: every metered call, change and refusal, with its cost. Filters (subkey_id, operation, since inclusive) combine; page back with ` +
				`before_seq = the last seq. Free; owner key. Refusals: OWNER_ONLY, INVALID_ARGUMENT.`,
			Parts: "Ask with a smaller limit, then before_seq = the last seq.",
		}, getActivity),
		op(Def{
			Name: "get_activity_summary", Log: "ACTIVITY_SUMMARY", Method: "GET", Path: activityPath + "/summary", Who: Owner,
			Price: billing.PriceOf("get_activity_summary"), WhileBlocked: true, ReadOnly: true, Idempotent: true,
			Summary: "Sum the log by key and operation.",
			Doc: `Calls and cost in units since a time, by subkey_operation (default), subkey or operation; a null subkey_id is the owner or the service. Free; owner ` +
				`key. Refusals: OWNER_ONLY, INVALID_ARGUMENT, UNAVAILABLE (the log is too long to be summed at once: give since).`,
		}, activitySummary),
	}
}

// GetActivityIn is the input of get_activity.
type GetActivityIn struct {
	SubkeyID  *string `json:"subkey_id" check:"id" doc:"This sub-key's."`
	Operation *string `json:"operation" check:"word" doc:"Such as PUT_FILE."`
	Since     *string `json:"since" check:"timestamp" doc:"From this timestamp on."`
	BeforeSeq *int64  `json:"before_seq" min:"1" null:"unlisted" doc:"Before this seq."`
	Limit     int64   `json:"limit" min:"1" max:"500" default:"100" doc:"Most rows."`
}

// ActivityOut is one row of the log. A null subkey_id is the owner or the service itself.
type ActivityOut struct {
	Seq         int64         `json:"seq"`
	TS          Time          `json:"ts"`
	SubkeyID    *string       `json:"subkey_id"`
	Operation   string        `json:"operation"`
	Path        *string       `json:"path"`
	CostCharged billing.Units `json:"cost_charged"`
	Status      string        `json:"status"`
	Detail      *string       `json:"detail"`
}

func getActivity(ctx context.Context, c *Caller, in GetActivityIn) (List[ActivityOut], error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return List[ActivityOut]{}, err
	}
	filter := store.ActivityFilter{Operation: in.Operation, Since: instant(in.Since), BeforeSeq: in.BeforeSeq, Limit: in.Limit}
	if in.SubkeyID != nil {
		filter.Subkey = new(knownID(*in.SubkeyID))
	}
	rows, err := c.svc.store.Activity(ctx, c.Workspace(), filter)
	if err != nil {
		return List[ActivityOut]{}, storeError(err)
	}
	out := make([]ActivityOut, len(rows))
	for i, r := range rows {
		out[i] = ActivityOut{r.Seq, Time{r.TS}, idOrNil(r.Subkey), r.Operation, r.Path, billing.Units(r.Cost), r.Status, r.Detail}
	}
	return listOf(out), nil
}

// ActivitySummaryIn is the input of get_activity_summary.
type ActivitySummaryIn struct {
	Since   *string `json:"since" check:"timestamp" doc:"From this timestamp on."`
	GroupBy string  `json:"group_by" check:"group" default:"\"subkey_operation\"" doc:"subkey_operation, subkey or operation."`
}

// ActivitySumOut is one group; fields that the grouping leaves out are null.
type ActivitySumOut struct {
	SubkeyID  *string       `json:"subkey_id"`
	Operation *string       `json:"operation"`
	Calls     int64         `json:"calls"`
	TotalCost billing.Units `json:"total_cost"`
}

func activitySummary(ctx context.Context, c *Caller, in ActivitySummaryIn) (List[ActivitySumOut], error) {
	if _, err := c.inquire(ctx, nil); err != nil {
		return List[ActivitySumOut]{}, err
	}
	rows, err := c.svc.store.ActivitySums(ctx, c.Workspace(), instant(in.Since), in.GroupBy != "operation", in.GroupBy != "subkey")
	if err != nil {
		return List[ActivitySumOut]{}, storeError(err)
	}
	out := make([]ActivitySumOut, len(rows))
	for i, r := range rows {
		out[i] = ActivitySumOut{idOrNil(r.Subkey), r.Operation, r.Calls, billing.Units(r.Cost)}
	}
	return listOf(out), nil
}
