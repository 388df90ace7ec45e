package rest

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// unreadTime is how long a client that was answered before its whole body came may go on sending it.
const unreadTime = 5 * time.Second

// watchedBody knows whether it was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended bool
}

// Read notes the end.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// boundUnread bounds what net/http does for the sake of the next request: it waits without end for the rest
// of a body that nobody read, before it sends the answer and again after it. Instead the answer goes out at
// once and says that the connection closes; the client may send the rest for a while, so that it finds the
// answer and no broken connection.
func boundUnread(c echo.Context, wait time.Duration) {
	r := c.Request()
	if r.Body == nil || r.ContentLength == 0 {
		return
	}
	body := &watchedBody{ReadCloser: r.Body}
	watched := r.WithContext(r.Context()) // a copy: net/http looks at the body of its own
	watched.Body = body
	c.SetRequest(watched)
	answer := c.Response()
	answer.Before(func() {
		if body.ended {
			return
		}
		answer.Header().Set("Connection", "close")
		connection := http.NewResponseController(answer.Writer)
		time.AfterFunc(wait, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) })
	})
}
