package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/store"
)

const messagePath = workspacePath + "/messages"

func messageOps() []*Op {
	return []*Op{
		op(Def{
			Name: "send_message", Log: "SEND_MESSAGE", Method: "POST", Path: messagePath, Who: AnyKey, Price: billing.PriceOf("send_message"),
			Status: 201, Subject: "topic",
			Summary: "Send a message.",
			Doc: `Sends to one sub-key (to_subkey_id) or to every key. The key proves the sender. Costs 3 units. Refusals: NOT_FOUND (no such sub-key), SUBKEY_REVOKED, ` +
				`402.`,
		}, sendMessage),
		op(Def{
			Name: "get_messages", Log: "GET_MESSAGES", Method: "GET", Path: messagePath, Who: AnyKey, Price: billing.PriceOf("get_messages"),
			Subject: "topic", ReadOnly: true, Idempotent: true,
			Summary: "Read messages.",
			Doc: `Messages to you and to all (the owner sees every one), oldest first. since is exclusive: pass the last ts and each comes exactly once. With none there ` +
				`it waits wait_seconds, then answers []. Costs 1 unit. Refusals: INVALID_ARGUMENT, 402.`,
			Parts: "Ask with a smaller limit, then since = the last ts.",
		}, getMessages),
	}
}

// SendMessageIn is the input of send_message.
type SendMessageIn struct {
	Body  string  `json:"body" check:"prose" maxlen:"4000" doc:"1-4000 characters."`
	To    *string `json:"to_subkey_id" check:"recipient" doc:"Null: to all."`
	Topic *string `json:"topic" check:"topic" doc:"1-255 bytes, to filter by."`
}

// SendMessageOut is the output of send_message.
type SendMessageOut struct {
	MessageID string `json:"message_id"`
	TS        Time   `json:"ts"`
}

func sendMessage(ctx context.Context, c *Caller, in SendMessageIn) (SendMessageOut, error) {
	id := newID()
	out := SendMessageOut{MessageID: id.String()}
	var to *uuid.UUID
	if in.To != nil {
		to = new(knownID(*in.To))
	}
	err := c.do(ctx, fn{
		name: "send_message", price: c.op.Price.Base, size: len(in.Body), args: []any{id, in.Body, to, in.Topic},
		into: []any{&out.TS.Time}, once: true, made: []any{&out.MessageID},
		tell: store.Change{Operation: c.op.Log, Path: in.Topic, Recipient: to, Message: &id},
	})
	return out, err
}

// GetMessagesIn is the input of get_messages.
type GetMessagesIn struct {
	Since *string `json:"since" check:"timestamp" doc:"After this timestamp."`
	Topic *string `json:"topic" check:"topic" doc:"Exactly this topic."`
	Limit int64   `json:"limit" min:"1" max:"500" default:"100" doc:"Most messages."`

	WaitSeconds int64 `json:"wait_seconds" min:"0" max:"50" default:"0" doc:"Wait so long for one."`
}

// MessageOut is one message. A null sender is the owner, a null recipient is everybody.
type MessageOut struct {
	MessageID string  `json:"message_id"`
	TS        Time    `json:"ts"`
	From      *string `json:"from_subkey_id"`
	To        *string `json:"to_subkey_id"`
	Topic     *string `json:"topic"`
	Body      string  `json:"body"`
}

func getMessages(ctx context.Context, c *Caller, in GetMessagesIn) (List[MessageOut], error) {
	args := []any{instant(in.Since), in.Topic, in.Limit}
	if in.WaitSeconds == 0 {
		var m messageColumns
		err := c.do(ctx, fn{name: "get_messages", price: c.op.Price.Base, args: args, into: m.into()})
		return m.list(), err
	}
	var subkey *uuid.UUID
	return poll(ctx, c, in.WaitSeconds,
		func() func(store.Change) bool {
			own := subkey
			return func(e store.Change) bool {
				comes := e.Operation == "SEND_MESSAGE" && inInbox(e.Recipient, own) && (in.Topic == nil || e.Path != nil && *e.Path == *in.Topic)
				return comes || aboutKey(e, own)
			}
		},
		func(ctx context.Context, wait bool) (List[MessageOut], bool, error) {
			var m messageColumns
			var waiting bool
			err := c.do(ctx, fn{name: "await_messages", price: c.op.Price.Base, args: append(args[:3:3], wait), into: append(m.into(), &waiting, &subkey)})
			return m.list(), !waiting, err
		})
}

// messageColumns are messages as the SQL functions give them.
type messageColumns struct {
	ids                 []uuid.UUID
	times               []time.Time
	senders, recipients []*uuid.UUID
	topics              []*string
	bodies              []string
}

func (m *messageColumns) into() []any {
	return []any{&m.ids, &m.times, &m.senders, &m.recipients, &m.topics, &m.bodies}
}

func (m *messageColumns) list() List[MessageOut] {
	out := make([]MessageOut, len(m.ids))
	for i, id := range m.ids {
		out[i] = MessageOut{id.String(), Time{m.times[i]}, idOrNil(m.senders[i]), idOrNil(m.recipients[i]), m.topics[i], m.bodies[i]}
	}
	return listOf(out)
}

// instant reads a timestamp that the checker has seen.
func instant(s *string) *time.Time {
	if s == nil {
		return nil
	}
	t, _ := ParseTime(*s)
	return &t
}
