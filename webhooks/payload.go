package webhooks

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"aanet/store"

	"github.com/google/uuid"
)

// The types of events that a webhook may subscribe to.
const (
	FileWrite     = "file_write"
	FileDelete    = "file_delete"
	LockAvailable = "lock_available"
	Message       = "message"
	BalanceLow    = "balance_low"
)

// ping is sent on request and needs no subscription.
const ping = "ping"

// Events are all types that a webhook may subscribe to, in the order in which they are shown.
func Events() []string { return []string{FileWrite, FileDelete, LockAvailable, Message, BalanceLow} }

// PayloadVersion is the version of the bodies that webhooks registered now get for good.
const PayloadVersion = 1

// EventID is what a receiver tells events apart by (webhook-id): the same at every attempt, for every
// endpoint and after every restart.
func EventID(workspace uuid.UUID, seq int64) string {
	return "evt_" + hex.EncodeToString(workspace[:]) + "_" + strconv.FormatInt(seq, 10)
}

// head begins every body of version 1.
type head struct {
	ID          string  `json:"id"`
	Type        string  `json:"type"`
	WorkspaceID string  `json:"workspace_id"`
	Seq         int64   `json:"seq"`
	TS          string  `json:"ts"`
	SubkeyID    *string `json:"subkey_id"`
}

type fileWritten struct {
	head
	Path string `json:"path"`
	ETag string `json:"etag"`
}

type fileDeleted struct {
	head
	Path string `json:"path"`
}

type lockReleased struct {
	head
	LockName string `json:"lock_name"`
}

type messageSent struct {
	head
	MessageID  string  `json:"message_id"`
	ToSubkeyID *string `json:"to_subkey_id"`
}

type balanceFell struct {
	head
	WebhookID       string `json:"webhook_id"`
	Balance         int64  `json:"balance"`
	BalanceLowUnits int64  `json:"balance_low_units"`
}

type pinged struct {
	head
	WebhookID string `json:"webhook_id"`
}

// Render makes the body of an event in a version. The same event gives the same bytes whenever and
// wherever it is rendered, so that the signature of a body never changes.
func Render(version int, e store.Event) (kind string, body []byte, err error) {
	if version != 1 {
		return "", nil, fmt.Errorf("there is no version %d of webhook bodies", version)
	}
	shown, kind := bodyV1(e)
	if shown == nil {
		return "", nil, fmt.Errorf("activity row %d (%s) is no event", e.Seq, e.Operation)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shown); err != nil {
		return "", nil, fmt.Errorf("body of %s: %w", kind, err)
	}
	return kind, bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func bodyV1(e store.Event) (shown any, kind string) {
	h := head{
		ID: EventID(e.Workspace, e.Seq), WorkspaceID: e.Workspace.String(), Seq: e.Seq,
		TS: e.TS.UTC().Format(timeLayout), SubkeyID: textOf(e.Subkey),
	}
	switch e.Operation {
	case "PUT_FILE", "APPEND_FILE":
		h.Type = FileWrite
		return fileWritten{h, orEmpty(e.Path), orEmpty(e.ETag)}, h.Type
	case "DELETE_FILE":
		h.Type = FileDelete
		return fileDeleted{h, orEmpty(e.Path)}, h.Type
	case "LOCK_RELEASE":
		h.Type = LockAvailable
		return lockReleased{h, orEmpty(e.Path)}, h.Type
	case "SEND_MESSAGE":
		h.Type = Message
		return messageSent{h, orEmpty(textOf(e.Message)), textOf(e.Recipient)}, h.Type
	case "BALANCE_LOW":
		h.Type = BalanceLow
		balance, mark, _ := strings.Cut(orEmpty(e.ETag), "/") // as functions/warn_low.sql writes it
		return balanceFell{h, orEmpty(e.Path), units(balance), units(mark)}, h.Type
	case "PING_WEBHOOK":
		h.Type = ping
		return pinged{h, orEmpty(e.Path)}, h.Type
	}
	return nil, ""
}

func units(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// timeLayout is how the service writes timestamps: UTC, six fraction digits, Z.
const timeLayout = "2006-01-02T15:04:05.000000Z"

func textOf(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	return new(id.String())
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
