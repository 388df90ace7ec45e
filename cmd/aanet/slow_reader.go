package main

import (
	"net/http"
	"time"
)

// readPatience is how long a client may leave a part of an answer unread before its connection is
// ended. The server's own WriteTimeout would count from the request's arrival, and so end streams,
// waiting calls and slow uploads too.
const readPatience = time.Minute

// endSlowReaders gives each write of an answer its own deadline.
func endSlowReaders(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&deadlineWriter{ResponseWriter: w, patience: patience}, r)
	})
}

type deadlineWriter struct {
	http.ResponseWriter
	patience time.Duration
}

func (w *deadlineWriter) Write(p []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(p)
}

// Flush extends the deadline too: what is flushed may have been written long before.
func (w *deadlineWriter) Flush() {
	w.extend()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a client that is gone is noticed by the next write
}

func (w *deadlineWriter) extend() {
	// A writer without deadlines (in tests) has no connection to hold either.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
}

// Unwrap lets http.ResponseController reach what this writer does not have.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
