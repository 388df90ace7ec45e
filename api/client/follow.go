package client

import (
	"context"
	"iter"
	"time"
)

// FollowMessagesIn is the input of FollowMessages.
type FollowMessagesIn struct {
	// Only messages after this timestamp: that of the last message you have. Nil: from the first on.
	Since *time.Time
	// Only messages with exactly this topic.
	Topic *string
	// Called with what keeps messages from coming, before it is tried again; may be nil.
	OnTrouble func(error)
}

// FollowMessages gives the messages to this key, each once and in order, and waits for the next ones. It goes on when the
// service was away or the connection was cut. It ends with an error: ctx's, or a refusal that will not pass. Keep the TS of
// the last message to go on after it another time. A call costs 1 unit, and lasts 50 s while nothing comes.
//
//	for message, err := range agent.FollowMessages(ctx, client.FollowMessagesIn{}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(message.Body)
//	}
func (c *Client) FollowMessages(ctx context.Context, in FollowMessagesIn) iter.Seq2[MessageOut, error] {
	const page, patience = 500, 50
	return func(yield func(MessageOut, error) bool) {
		since := in.Since
		pauses := backoff{told: in.OnTrouble}
		for {
			messages, err := c.GetMessages(ctx, GetMessagesIn{Since: since, Topic: in.Topic, Limit: page, WaitSeconds: patience})
			if err != nil {
				if err := pauses.after(ctx, err); err != nil {
					yield(MessageOut{}, err)
					return
				}
				continue
			}
			pauses.attempt = 0
			for _, m := range messages {
				if !yield(m, nil) {
					return
				}
				since = new(m.TS)
			}
		}
	}
}

// backoff is how a follower goes on after trouble.
type backoff struct {
	attempt int
	told    func(error)
}

// after waits before the next try. The error is that there is none: what happened will not pass, or ctx has ended.
func (b *backoff) after(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !Temporary(err) {
		return err
	}
	if b.told != nil {
		b.told(err)
	}
	b.attempt++
	if !wait(ctx, pauseBefore(min(b.attempt, 8), err)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return nil
}
