package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Standing is what a webhook's last attempts have shown of its receiver.
type Standing string

// The standings of a webhook.
const (
	Prompt   Standing = "prompt"   // the last ones were answered well and at once
	Unproven Standing = "unproven" // there were none, or they were answered well and late
	Failing  Standing = "failing"  // the last one failed
)

// DueWebhook is a webhook that has something to send.
type DueWebhook struct {
	Workspace, Webhook uuid.UUID
	Secret             []byte
	PayloadVersion     int
	Standing           Standing
	Host               string // of its address, with the port if it names one; in lower case
}

// Room says how many webhooks of each standing to look for, and at which hosts not to.
type Room struct{ Prompt, Unproven, Failing Look }

// Look is a search for up to Limit webhooks, at all hosts but some.
type Look struct {
	Limit   int
	Without []string
}

const (
	dueColumns = `workspace_id, webhook_id, secret, payload_version`
	dueHost    = `coalesce(lower(substring(url from '^[^/]*//([^/?#]*)')), '')`
)

// DueWebhooks lists webhooks that are due, those of each standing apart, so that the ones that nobody may have time for
// hide no others. The most overdue come first; of unproven ones first one of each workspace. It locks nothing: who serves
// one is decided by BeginAttempts.
func (s *Store) DueWebhooks(ctx context.Context, room Room) ([]DueWebhook, error) {
	for _, look := range []*Look{&room.Prompt, &room.Unproven, &room.Failing} {
		if look.Without == nil {
			look.Without = []string{} // no host, where null would be none that is known
		}
	}
	return collect[DueWebhook](ctx, s, `
		(select `+dueColumns+`, 'prompt', `+dueHost+` from webhooks
		  where due_at <= (select aanet_now()) and failures = 0 and prompt and `+dueHost+` <> all($4::text[]) order by due_at limit $1)
		union all
		(select `+dueColumns+`, 'unproven', host from (
		 select `+dueColumns+`, due_at, `+dueHost+` as host, row_number() over (partition by workspace_id order by due_at) as nth from webhooks
		  where $2 > 0 and due_at <= (select aanet_now()) and failures = 0 and not prompt and `+dueHost+` <> all($5::text[])) u
		  order by nth, due_at limit $2)
		union all
		(select `+dueColumns+`, 'failing', `+dueHost+` from webhooks
		  where due_at <= (select aanet_now()) and failures > 0 and `+dueHost+` <> all($6::text[]) order by due_at limit $3)`,
		room.Prompt.Limit, room.Unproven.Limit, room.Failing.Limit, room.Prompt.Without, room.Unproven.Without, room.Failing.Without)
}

// Begin is what BeginAttempts needs.
type Begin struct {
	Workspace, Webhook uuid.UUID
	Worker             uuid.UUID     // who leases the webhook
	Lease              time.Duration // after which another worker takes over
	Price              int64         // units an attempt
	IDs                []uuid.UUID   // of the attempts; as many as may be under way at once
	Keep               time.Duration // how long an event waits
}

// Begun are attempts that were charged and logged and must now be made. Without any, Code may tell why:
// NOT_FOUND, NOT_DUE, WORKSPACE_BLOCKED or INSUFFICIENT_BALANCE.
type Begun struct {
	Code           string
	URL            string
	PayloadVersion int
	Secret         []byte
	PreviousSecret []byte // nil when it signs no longer
	Failures       int    // failed attempts in a row so far
	Attempts       []Attempt
}

// Attempt is one attempt with the event that it delivers.
type Attempt struct {
	DeliveryID   uuid.UUID
	Number       int   // of the attempts for this event, from 1
	Turn, LogSeq int64 // for Finish
	Event        Event
}

// Event is the row of the log that an event is. Fields that its operation does not have are nil.
type Event struct {
	Workspace uuid.UUID
	Seq       int64
	TS        time.Time
	Operation string
	Subkey    *uuid.UUID // who did it; nil is the owner
	Path      *string    // path, lock name or topic
	ETag      *string
	Message   *uuid.UUID
	Recipient *uuid.UUID // of the message; nil is everybody
}

// BeginAttempts leases a due webhook and charges its next attempts. After ErrUnknown they may have been
// charged; the lease then ends by itself and they count as unknown.
func (s *Store) BeginAttempts(ctx context.Context, b Begin) (Begun, error) {
	var out Begun
	var turns, logSeqs, seqs []int64
	var numbers []int
	var times []time.Time
	var operations []string
	var subkeys, messages, recipients []*uuid.UUID
	var paths, etags []*string
	result, err := s.Do(ctx, Call{
		Function: "begin_attempts", Workspace: b.Workspace,
		Args: []any{b.Webhook, b.Worker, b.Lease, len(b.IDs), b.Price, b.IDs, b.Keep},
		Into: []any{
			&out.URL, &out.PayloadVersion, &out.Secret, &out.PreviousSecret, &out.Failures,
			&turns, &numbers, &logSeqs, &seqs, &times, &operations, &subkeys, &paths, &etags, &messages, &recipients,
		},
	})
	if err != nil || result.Code != "" {
		return Begun{Code: result.Code}, err
	}
	for i, turn := range turns {
		out.Attempts = append(out.Attempts, Attempt{
			DeliveryID: b.IDs[i], Number: numbers[i], Turn: turn, LogSeq: logSeqs[i],
			Event: Event{
				Workspace: b.Workspace, Seq: seqs[i], TS: times[i], Operation: operations[i], Subkey: subkeys[i],
				Path: paths[i], ETag: etags[i], Message: messages[i], Recipient: recipients[i],
			},
		})
	}
	return out, nil
}

// What an attempt came to.
const (
	AttemptSucceeded = "success"
	AttemptFailed    = "failure"
	AttemptUnknown   = "unknown" // no failure of the receiver: the event goes on waiting
)

// Outcome is how one attempt went.
type Outcome struct {
	Attempt  Attempt
	Result   string // AttemptSucceeded, AttemptFailed or AttemptUnknown
	Status   int    // of the answer; 0 when there was none
	Error    string // empty for a success
	Duration time.Duration
}

// Finish is what FinishAttempts needs.
type Finish struct {
	Workspace, Webhook uuid.UUID
	Worker             uuid.UUID
	Outcomes           []Outcome     // in the order in which they ended
	Retry              time.Duration // until the next attempt, should the last one have failed
	Gone               bool          // the receiver wants no more
	Strict             bool          // keep the order of events, even behind one that fails
	Prompt             bool          // all were answered well and at once
	FailuresMax        int           // failed attempts in a row that disable
	AttemptsMax        int           // failed attempts after which an event is given up, if others were delivered meanwhile
}

// Finished tells what FinishAttempts did: the reason if it disabled the webhook, and whether more is due now.
type Finished struct {
	Disabled *string
	More     bool
}

// FinishAttempts records outcomes and gives the lease back. It may be called again after ErrUnknown and ErrUnavailable.
func (s *Store) FinishAttempts(ctx context.Context, f Finish) (Finished, error) {
	n := len(f.Outcomes)
	ids, turns, logSeqs := make([]uuid.UUID, n), make([]int64, n), make([]int64, n)
	results, statuses, failures, durations := make([]string, n), make([]*int, n), make([]*string, n), make([]int64, n)
	for i, o := range f.Outcomes {
		ids[i], turns[i], logSeqs[i] = o.Attempt.DeliveryID, o.Attempt.Turn, o.Attempt.LogSeq
		results[i], durations[i] = o.Result, o.Duration.Milliseconds()
		if o.Status != 0 {
			statuses[i] = &o.Status
		}
		if o.Error != "" {
			failures[i] = &o.Error
		}
	}
	var out Finished
	_, err := s.Do(ctx, Call{
		Function: "end_attempts", Workspace: f.Workspace,
		Args: []any{
			f.Webhook, f.Worker, ids, turns, logSeqs, results, statuses, failures, durations,
			f.Retry, f.Gone, f.Strict, f.Prompt, f.FailuresMax, f.AttemptsMax,
		},
		Into: []any{&out.Disabled, &out.More},
	})
	return out, err
}
