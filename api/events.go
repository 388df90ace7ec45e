package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"aanet/billing"
	"aanet/store"
	"aanet/webhooks"
)

func eventOps() []*Op {
	return []*Op{
		op(Def{
			Name: "wait", Log: "WAIT", Method: "GET", Path: workspacePath + "/events", Who: AnyKey, Price: billing.PriceOf("wait"),
			ReadOnly: true, Idempotent: true,
			Summary: "Wait for events.",
			Doc: `The workspace's events in the order of its log: file_write, file_delete, lock_available (a release, not an expiry), message. after = the last ` +
				`next_after: each event once; without it, from now on. With none there it waits wait_seconds, then answers []. Filters: types, path_prefix (whole ` +
				`segments), lock_name; you see what scope and inbox allow. An empty answer whose next_after grew: go on. Costs 1 unit. Refusals: INVALID_ARGUMENT ` +
				`(after is beyond the end), 402.`,
			Parts: "Ask with a smaller limit, then after = next_after.",
		}, waitForEvents),
	}
}

// WaitIn is the input of wait.
type WaitIn struct {
	After       *int64  `json:"after" min:"0" max:"9007199254740991" null:"unlisted" doc:"The last next_after, or a seq of the log."`
	Types       *string `json:"types" check:"events" null:"unlisted" doc:"Kinds, separated by commas."`
	PathPrefix  *string `json:"path_prefix" check:"scope" null:"unlisted" doc:"Of files, this path and below."`
	LockName    *string `json:"lock_name" check:"lock" null:"unlisted" doc:"Of locks, this one."`
	Limit       int64   `json:"limit" min:"1" max:"500" default:"100" doc:"Most events."`
	WaitSeconds int64   `json:"wait_seconds" min:"0" max:"50" default:"0" doc:"Wait so long for one."`
}

// EventOut is one event. A null subkey_id is the owner; fields that do not belong to its type are null.
type EventOut struct {
	Seq       int64   `json:"seq"`
	TS        Time    `json:"ts"`
	Type      string  `json:"type"`
	SubkeyID  *string `json:"subkey_id"`
	Path      *string `json:"path"`
	ETag      *string `json:"etag"`
	LockName  *string `json:"lock_name"`
	MessageID *string `json:"message_id"`
	To        *string `json:"to_subkey_id"`
	Topic     *string `json:"topic"`
}

// WaitOut is the output of wait.
type WaitOut struct {
	Events    []EventOut `json:"events"`
	NextAfter int64      `json:"next_after"`
}

// eventKinds are what the feed shows.
var eventKinds = []string{webhooks.FileWrite, webhooks.FileDelete, webhooks.LockAvailable, webhooks.Message}

// eventTypes reads the list of types; nil gives all.
func eventTypes(list *string) []string {
	if list == nil {
		return eventKinds
	}
	types := strings.Split(*list, ",")
	for i := range types {
		types[i] = strings.TrimSpace(types[i])
	}
	return types
}

func eventTypesFault(list string) string {
	for _, t := range eventTypes(&list) {
		if !slices.Contains(eventKinds, t) {
			return "must be event types separated by commas: " + strings.Join(eventKinds, ", ")
		}
	}
	return ""
}

func waitForEvents(ctx context.Context, c *Caller, in WaitIn) (WaitOut, error) {
	r := newEventReader(c, in)
	return poll(ctx, c, in.WaitSeconds, r.narrow, func(ctx context.Context, wait bool) (WaitOut, bool, error) {
		mode := answerNow
		if wait {
			mode = answerEvents
		}
		err := r.read(ctx, mode)
		return r.out, !r.waiting, err
	})
}

// The modes of functions/read_events.sql.
const (
	answerNow    = 0 // charged, whatever there is
	answerEvents = 1 // charged when there is something
	answerPaid   = 2 // free: the time is paid for
)

// eventReader reads the event feed for one caller, from where it is.
type eventReader struct {
	c       *Caller
	types   []string
	prefix  *string
	lock    *string
	limit   int64
	after   *int64
	waiting bool // nothing was there
	more    bool // there are rows behind what was read
	subkey  *uuid.UUID
	out     WaitOut
}

func newEventReader(c *Caller, in WaitIn) *eventReader {
	return &eventReader{c: c, types: eventTypes(in.Types), prefix: in.PathPrefix, lock: in.LockName, limit: in.Limit, after: in.After}
}

// read takes the next page, and goes on behind it.
func (r *eventReader) read(ctx context.Context, mode int) error {
	var seqs []int64
	var times []time.Time
	var types []string
	var subkeys, messages, recipients []*uuid.UUID
	var paths, etags []*string
	var next int64
	err := r.c.do(ctx, fn{
		name: "read_events", price: r.c.op.Price.Base, args: []any{r.after, r.types, r.prefix, r.lock, r.limit, mode},
		into: []any{&r.waiting, &next, &r.more, &r.subkey, &seqs, &times, &types, &subkeys, &paths, &etags, &messages, &recipients},
	})
	if err != nil {
		return beyondEnd(err)
	}
	events := make([]EventOut, len(seqs))
	for i, seq := range seqs {
		e := EventOut{Seq: seq, TS: Time{times[i]}, Type: types[i], SubkeyID: idOrNil(subkeys[i])}
		switch types[i] {
		case webhooks.LockAvailable:
			e.LockName = paths[i]
		case webhooks.Message:
			e.MessageID, e.To, e.Topic = idOrNil(messages[i]), idOrNil(recipients[i]), paths[i]
		default:
			e.Path, e.ETag = paths[i], etags[i]
		}
		events[i] = e
	}
	r.out, r.after = WaitOut{events, next}, &next
	return nil
}

// beyondEnd names the field at fault, as for any other wrong input.
func beyondEnd(err error) error {
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Code == InvalidArgument {
		refusal.Errors = []FieldFault{{"after", fmt.Sprintf("is beyond the end of the log, %v", refusal.Extra["last_seq"])}}
	}
	return err
}

// narrow is what the reader wants to be told of.
func (r *eventReader) narrow() func(store.Change) bool {
	subkey, types, lock, prefix := r.subkey, r.types, r.lock, r.prefix
	return func(e store.Change) bool {
		if aboutKey(e, subkey) {
			return true
		}
		path := ""
		if e.Path != nil {
			path = *e.Path
		}
		switch e.Operation {
		case "SEND_MESSAGE":
			return slices.Contains(types, webhooks.Message) && inInbox(e.Recipient, subkey)
		case "LOCK_RELEASE":
			return slices.Contains(types, webhooks.LockAvailable) && (lock == nil || *lock == path)
		case "DELETE_FILE":
			return slices.Contains(types, webhooks.FileDelete) && (prefix == nil || InScope(*prefix, path))
		case "PUT_FILE", "APPEND_FILE":
			return slices.Contains(types, webhooks.FileWrite) && (prefix == nil || InScope(*prefix, path))
		}
		return false
	}
}
