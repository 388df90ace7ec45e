package cli

import (
	"strconv"

	"aanet/api/client"
)

func activityCommands() []*command {
	since := option{"since", "TIME", "only from this time on: RFC 3339, or how long ago, such as 10m"}
	return []*command{
		{
			name: "activity", group: groupOwner, summary: "read the log, newest first", run: runActivity,
			detail:  "Every metered call, every change and every refusal, with its cost. Free; owner key.",
			example: "aanet activity --limit 5",
			flags: []option{
				{"key", "KEY_ID", "only what this key did"}, {"operation", "NAME", "only this operation, such as PUT_FILE"}, since,
				{"limit", "N", "at most so many rows (100)"}, {"all", "", "all rows, however many"},
			},
		},
		{
			name: "activity summary", group: groupOwner, summary: "sum the log by key and operation", run: runActivitySummary,
			detail:  "Sums calls and cost. Free; owner key.",
			example: "aanet activity summary --by operation",
			flags:   []option{since, {"by", "WORD", "subkey_operation, subkey or operation (subkey_operation)"}},
		},
	}
}

func runActivity(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	const pageMost = 500
	in := client.GetActivityIn{SubkeyID: c.text("key"), Operation: c.text("operation")}
	if in.Since, err = c.since("since"); err != nil {
		return err
	}
	left := int64(100)
	if n, err := c.number("limit"); err != nil {
		return err
	} else if n != nil {
		left = *n
	}
	if left < 1 {
		return usagef("--limit must be 1 or more")
	}
	in.Limit = min(left, pageMost)
	rows := [][]string{{"SEQ", "TIME", "KEY", "OPERATION", "ABOUT", "UNITS", "STATUS", "DETAIL"}}
	for a, err := range owner.Activity(c.ctx, in) {
		if err != nil {
			return err
		}
		if c.on("json") {
			if err := c.line(a); err != nil {
				return err
			}
		} else {
			rows = append(rows, []string{
				strconv.FormatInt(a.Seq, 10), moment(a.TS), textOr(a.SubkeyID, "owner"), a.Operation, textOr(a.Path, ""),
				grouped(a.CostCharged), a.Status, textOr(a.Detail, ""),
			})
		}
		if left--; left == 0 && !c.on("all") {
			break
		}
	}
	if !c.on("json") {
		table(c.Stdout, rows)
	}
	return nil
}

func runActivitySummary(c *call) error {
	owner, err := c.connect()
	if err != nil {
		return err
	}
	in := client.GetActivitySummaryIn{GroupBy: c.values["by"]}
	if in.Since, err = c.since("since"); err != nil {
		return err
	}
	return showList(c, func(raw client.CallOption) ([]client.ActivitySumOut, error) {
		return owner.GetActivitySummary(c.ctx, in, raw)
	},
		[]string{"KEY", "OPERATION", "CALLS", "UNITS"}, func(s client.ActivitySumOut) []string {
			key := textOr(s.SubkeyID, "owner")
			if in.GroupBy == "operation" {
				key = "all"
			}
			return []string{key, textOr(s.Operation, "all"), grouped(s.Calls), grouped(s.TotalCost)}
		})
}
