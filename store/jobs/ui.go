package jobs

import (
	"context"
	"fmt"
	"net/http"

	"riverqueue.com/riverui"
)

// UI makes River's own pages for the jobs, to be served under prefix, such as /admin/jobs. Whoever serves them decides
// who may see them: they ask nobody. What they need in the background ends with ctx.
func (j *Jobs) UI(ctx context.Context, prefix string) (http.Handler, error) {
	h, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(j.client, nil), Logger: j.log, Prefix: prefix})
	if err != nil {
		return nil, fmt.Errorf("pages of the jobs: %w", err)
	}
	if err := h.Start(ctx); err != nil {
		return nil, fmt.Errorf("start the pages of the jobs: %w", err)
	}
	return h, nil
}
