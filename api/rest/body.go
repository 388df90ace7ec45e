package rest

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"aanet/api"
)

// Each bodyChunk bytes of a body must come within bodyChunkTime, so that a client that sends a byte a
// second holds nothing for long.
const (
	bodyChunk     = 32 << 10
	bodyChunkTime = 10 * time.Second
)

// readBody gives the whole request body, or the refusal that needs no key: its media type, the size of
// the headers, its own size. A request without a body gives none, whatever its headers say.
func readBody(w http.ResponseWriter, r *http.Request, chunkTime time.Duration) ([]byte, *api.Refusal) {
	body := bufio.NewReader(http.MaxBytesReader(w, r.Body, api.BodyBytesMax))
	limit := limitTime(http.NewResponseController(w), chunkTime)
	defer limit.end()
	there := r.ContentLength > 0
	if r.ContentLength < 0 { // chunked: only reading tells
		_, err := body.Peek(1)
		there = !errors.Is(err, io.EOF)
	}
	if there && !api.DeclaredJSON(r.Header) {
		return nil, api.Refuse(api.UnsupportedMedia)
	}
	if api.HeaderBytes(r) > api.HeaderBytesMax {
		return nil, api.Refuse(api.HeadersTooLarge)
	}
	if !there {
		return nil, nil
	}
	if r.ContentLength > api.BodyBytesMax {
		return nil, api.Refuse(api.TooLarge)
	}
	return readAll(body, limit)
}

func readAll(body io.Reader, limit *timeLimit) ([]byte, *api.Refusal) {
	var all []byte
	for chunk := 0; ; {
		all = slices.Grow(all, bodyChunk)
		n, err := body.Read(all[len(all):cap(all)])
		all = all[:len(all)+n]
		if chunk += n; chunk >= bodyChunk {
			chunk = 0
			limit.restart()
		}
		var over *http.MaxBytesError
		var refusal *api.Refusal
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return all, nil
		case errors.As(err, &over):
			return nil, api.Refuse(api.TooLarge)
		case errors.As(err, &refusal): // from the watch on the body
			return nil, refusal
		default:
			return nil, incomplete()
		}
	}
}

func incomplete() *api.Refusal {
	return &api.Refusal{Code: api.Malformed, Detail: "The body ended, or stopped coming, before it was whole."}
}

// timeLimit ends the reading of a connection when time is up. It runs on a timer alone: a deadline would
// need the clock.
type timeLimit struct {
	connection *http.ResponseController
	chunk      time.Duration
	timer      *time.Timer
	over       chan struct{}
}

func limitTime(connection *http.ResponseController, chunk time.Duration) *timeLimit {
	l := &timeLimit{connection: connection, chunk: chunk, over: make(chan struct{})}
	l.timer = time.AfterFunc(chunk, func() {
		_ = connection.SetReadDeadline(time.Unix(1, 0)) // only connections can time out; a test's recorder cannot
		close(l.over)
	})
	return l
}

// restart gives the next chunk its time.
func (l *timeLimit) restart() {
	if l.timer.Stop() {
		l.timer.Reset(l.chunk)
	}
}

// end takes the limit away, so that it cannot end the call itself.
func (l *timeLimit) end() {
	if !l.timer.Stop() {
		<-l.over
		_ = l.connection.SetReadDeadline(time.Time{})
	}
}
