package api

import (
	"context"

	"aanet/billing"
)

func feedbackOps() []*Op {
	return []*Op{op(Def{
		Name: "submit_feedback", Log: "FEEDBACK", Method: "POST", Path: "/v1/feedback", Who: AnyKey, Price: billing.PriceOf("submit_feedback"),
		Status: 201, WhileBlocked: true,
		Summary: "Send feedback.",
		Doc:     `Tells the operator. pledged_budget_usd: what an answer would be worth to you (nothing is charged). Free; any key. Refusals: INVALID_ARGUMENT.`,
	}, submitFeedback)}
}

// FeedbackIn is the input of submit_feedback.
type FeedbackIn struct {
	Category    string `json:"category" check:"category" doc:"bug, feature, pricing or other."`
	Title       string `json:"title" check:"title" maxlen:"200" doc:"One line, 1-200 characters."`
	Description string `json:"description" check:"prose" maxlen:"4000" doc:"1-4000 characters."`
	Pledge      string `json:"pledged_budget_usd" check:"pledge" doc:"Dollars as a decimal string, \"0\" to \"1000000000\"."`
}

// FeedbackOut is the output of submit_feedback.
type FeedbackOut struct {
	FeedbackID string `json:"feedback_id"`
	Status     string `json:"status"`
}

func submitFeedback(ctx context.Context, c *Caller, in FeedbackIn) (FeedbackOut, error) {
	id := newID()
	out := FeedbackOut{FeedbackID: id.String(), Status: "open"}
	err := c.do(ctx, fn{
		name: "submit_feedback", args: []any{id, in.Category, in.Title, in.Description, in.Pledge},
		once: true, made: []any{&out.FeedbackID},
	})
	return out, err
}
