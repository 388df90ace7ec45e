package store

import (
	"context"
	"errors"
	"testing"
)

// Searches of the log beyond those that run wait, and leave when their callers do; then others get their turn.
func TestSearchesTakeTurns(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	for range cap(searches) {
		go func() {
			_, err := search(t.Context(), func() ([]int, error) {
				running <- struct{}{}
				<-release
				return nil, nil
			})
			ended <- err
		}()
		<-running
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := search(gone, func() ([]int, error) { return []int{1}, nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("one more search beside those that run: %v", err)
	}
	close(release)
	for range cap(searches) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if found, err := search(t.Context(), func() ([]int, error) { return []int{1}, nil }); err != nil || len(found) != 1 {
		t.Errorf("afterwards: %v %v", found, err)
	}
}
