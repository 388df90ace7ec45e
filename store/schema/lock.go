package schema

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// lockPause is the time between two tries to get a lock.
const lockPause = 200 * time.Millisecond

// Lock takes the advisory lock key for conn's session, under which what is changed by one process at a time. It waits as
// long as ctx allows, and tells log that it does.
//
// It polls: a session that waits inside pg_advisory_lock holds a snapshot, and a CREATE INDEX CONCURRENTLY of the lock's
// holder would wait for that snapshot: a deadlock.
func Lock(ctx context.Context, conn *pgx.Conn, key int64, what string, log *slog.Logger) error {
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for tries := 0; ; tries++ {
		var got bool
		if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", key).Scan(&got); err != nil {
			return fmt.Errorf("lock %s: %w", what, err)
		}
		if got {
			return nil
		}
		if tries == 0 {
			log.InfoContext(ctx, "waiting for another process that migrates "+what)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process migrates %s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}
