package rest

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"aanet/api"

	"github.com/labstack/echo/v4"
)

const (
	// A client that was answered before its whole body came may go on sending it for unreadTime and unreadMax bytes.
	unreadTime = 5 * time.Second
	unreadMax  = 64 << 20
	// bodiesBytesMax is what the bodies of all requests under way may hold in bytes, but for smallBody of each:
	// without a bound a hundred strangers who stop before the end of theirs would hold gigabytes, as the heap grows to several times what is in use.
	bodiesBytesMax = 128 << 20
	smallBody      = 64 << 10
)

// room is what is left of a number of bytes that requests share.
type room struct{ left atomic.Int64 }

func newRoom(bytes int64) *room {
	r := &room{}
	r.left.Store(bytes)
	return r
}

func (r *room) take(bytes int64) bool {
	if r.left.Add(-bytes) < 0 {
		r.left.Add(bytes)
		return false
	}
	return true
}

// watchedBody knows whether it was read to its end, and takes room for what was read of it.
type watchedBody struct {
	io.ReadCloser
	room        *room
	read, taken int64
	ended       bool
}

// Read fails with a *api.Refusal when there is no room for more.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	b.read += int64(n)
	if over := b.read - smallBody - b.taken; over > 0 {
		if !b.room.take(over) {
			return 0, &api.Refusal{Code: api.Unavailable, Detail: "Too many large bodies are on their way at once. Nothing was done; retry after retry_after seconds."}
		}
		b.taken += over
	}
	return n, err
}

// watchBody puts a watch on the body of a request. What it took of the room is given back by the function
// that it returns.
//
// It also bounds what net/http does for the sake of the next request: it waits without end for the rest of a
// body that nobody read, before it sends the answer and again after it, or cuts off a client that has much to
// send. Instead the answer goes out at once and says that the connection closes; what the client still sends is
// read and thrown away for a while, so that it finds the answer and no broken connection.
func watchBody(c echo.Context, all *room, wait time.Duration) (done func()) {
	r := c.Request()
	if r.Body == nil || r.ContentLength == 0 {
		return func() {}
	}
	body := &watchedBody{ReadCloser: r.Body, room: all}
	watched := r.WithContext(r.Context()) // a copy: net/http looks at the body of its own
	watched.Body = body
	c.SetRequest(watched)
	answer, unread := c.Response(), false
	connection := http.NewResponseController(answer.Writer)
	answer.Before(func() {
		if body.ended {
			return
		}
		unread = true
		answer.Header().Set("Connection", "close")
		time.AfterFunc(wait, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	})
	return func() {
		all.left.Add(body.taken)
		if unread && (body.read > 0 || r.Header.Get("Expect") == "") && connection.Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, unreadMax) // whoever waits to be asked for the body sends none
		}
	}
}
