package store

import (
	"context"
	"fmt"
	"time"
)

// searches are the searches of the log that this process makes at a time: each may read very many rows, and they must
// leave connections to the lists of others.
var searches = make(chan struct{}, 2)

// searchPatience is how long a search waits for its turn.
const searchPatience = 5 * time.Second

// search runs a search when it is its turn. ErrUnavailable: too many wait.
func search[T any](ctx context.Context, run func() ([]T, error)) ([]T, error) {
	late := time.NewTimer(searchPatience)
	defer late.Stop()
	select {
	case searches <- struct{}{}:
		defer func() { <-searches }()
		return run()
	case <-late.C:
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("search the log: too many searches: %w", ErrUnavailable)
}

// searched is collect for a query that may read much of a long log.
func searched[T any](ctx context.Context, s *Store, sql string, args ...any) ([]T, error) {
	return search(ctx, func() ([]T, error) { return collect[T](ctx, s, sql, args...) })
}
