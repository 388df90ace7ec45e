package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progressEvery is well below the minute after which proxies and clients take a silent connection for dead.
const progressEvery = 10 * time.Second

// tellProgress shows a client that asked for it that its call is alive, until stop is called. Without it the answer's
// header would not be sent before a waiting call is over.
func (d *door) tellProgress(ctx context.Context, req *sdk.CallToolRequest) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		every := d.options.ProgressEvery
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for passed := every; ; passed += every {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: passed.Seconds(), Message: "The call is waiting (seconds so far).",
			})
			if err != nil {
				return // the client is gone, which ends the call as well
			}
		}
	}()
	return func() { cancel(); <-done }
}
