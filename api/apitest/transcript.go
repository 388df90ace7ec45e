package apitest

import (
	"bytes"
	"sync"
)

// Transcript is what was written to it so far, by any number of goroutines.
type Transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (l *Transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is all of it.
func (l *Transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
