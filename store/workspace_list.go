package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ListedWorkspace is a workspace in the operator's lists.
type ListedWorkspace struct {
	ID             uuid.UUID
	Label          string
	CreatedAt      time.Time
	TrialExpiresAt *time.Time
	Blocked        bool
	Balance, Spent int64
	LastAt         time.Time  // of the last row of its log
	Day            *time.Time // the last day in which the roll-up saw it active, in UTC; nil: it did not yet
	DayCalls       int64
	Rank           int64 // what it is sorted by, beside Day: the balance as it was when it was counted, or DayCalls
}

// The orders in which workspaces are listed.
const (
	NewestFirst  = "newest"
	RichestFirst = "balance"
	BusiestFirst = "active"
	BlockedOnly  = "blocked"
)

// WorkspacePlace is where a page of a list ends: the next one begins behind it.
type WorkspacePlace struct {
	ID   uuid.UUID
	Rank int64
	Day  time.Time
}

const listedColumns = `w.workspace_id, w.label, w.created_at, w.trial_expires_at, w.blocked, w.balance, w.spent, w.last_ts, r.day, coalesce(r.day_calls, 0)`

// listedSQL has a query for each order. Ids begin with the time they were made, so their order is that of age. Balances and
// calls are those of the last roll-up, or every call would have to move an entry of an index.
var listedSQL = map[string]string{
	NewestFirst: `select ` + listedColumns + `, 0::bigint from workspaces w left join workspace_rollups r on r.workspace_id = w.workspace_id
		where w.deleted_at is null and w.workspace_id < $1 and $2::bigint is not null and $3::timestamptz is not null order by w.workspace_id desc limit $4`,
	BlockedOnly: `select ` + listedColumns + `, 0::bigint from workspaces w left join workspace_rollups r on r.workspace_id = w.workspace_id
		where w.blocked and w.deleted_at is null and w.workspace_id < $1 and $2::bigint is not null and $3::timestamptz is not null order by w.workspace_id desc limit $4`,
	RichestFirst: `select ` + listedColumns + `, r.balance from workspace_rollups r join workspaces w on w.workspace_id = r.workspace_id
		where not r.gone and (r.balance, r.workspace_id) < ($2::bigint, $1) and $3::timestamptz is not null order by r.balance desc, r.workspace_id desc limit $4`,
	BusiestFirst: `select ` + listedColumns + `, r.day_calls from workspace_rollups r join workspaces w on w.workspace_id = r.workspace_id
		where not r.gone and (r.day, r.day_calls, r.workspace_id) < ($3::timestamptz, $2::bigint, $1) order by r.day desc, r.day_calls desc, r.workspace_id desc limit $4`,
}

// ListWorkspaces lists living workspaces in an order, after a place (nil: from the beginning).
func (s *Store) ListWorkspaces(ctx context.Context, order string, after *WorkspacePlace, limit int) ([]ListedWorkspace, error) {
	if after == nil {
		after = &WorkspacePlace{ID: uuid.Max, Rank: 1<<63 - 1, Day: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	return collect[ListedWorkspace](ctx, s, listedSQL[order], after.ID, after.Rank, after.Day, limit)
}
