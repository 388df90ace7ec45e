package rest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"aanet/api"
	"aanet/api/negotiate"

	"github.com/labstack/echo/v4"
)

const typeEvents = "text/event-stream"

// writePatience is how long a client of a stream may take to receive one piece of it.
const writePatience = 10 * time.Second

// wantsStream tells whether a request asks for the event feed as server-sent events.
func wantsStream(r *http.Request, op *api.Op) bool {
	return op.Name == "wait" && r.Method == http.MethodGet && negotiate.Prefers(r.Header.Get("Accept"), typeEvents, typeJSON)
}

// stream sends the event feed as server-sent events until the client leaves, its key may no longer read
// it, or the service stops. Last-Event-ID is where a client that comes back goes on: it counts more than
// after, which stands in the address that a browser calls again.
func (d *door) stream(c echo.Context, op *api.Op, request api.Request) error {
	r := c.Request()
	if last := r.Header.Get("Last-Event-ID"); last != "" && request.Input != nil {
		request.Input["after"] = api.Text(last)
	}
	answer, feed := d.svc.Follow(r.Context(), request)
	if answer.Refusal != nil {
		return d.answer(c, op, answer)
	}
	defer feed.Close()
	h := c.Response().Header()
	h.Set("X-AANet-Cost", strconv.FormatInt(answer.Cost, 10))
	h.Set("X-AANet-Remaining-Balance", strconv.FormatInt(*answer.Remaining, 10))
	h.Set("Content-Type", typeEvents)
	h.Set("X-Accel-Buffering", "no") // proxies hold pieces back otherwise
	c.Response().WriteHeader(http.StatusOK)
	for {
		page, err := feed.Next(r.Context())
		if err != nil {
			return d.endStream(c, err)
		}
		text, err := eventText(page)
		if err != nil {
			return err
		}
		if writeSoon(c, text) != nil {
			return nil // the client is gone or too slow: it comes back with the last id it has
		}
	}
}

// eventText is a page as server-sent events. An id alone moves the client's Last-Event-ID over rows that
// are no events for it.
func eventText(page api.WaitOut) ([]byte, error) {
	var b bytes.Buffer
	last := int64(-1)
	for _, e := range page.Events {
		data, err := encodeJSON(e)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n", e.Seq, e.Type, data)
		last = e.Seq
	}
	if last < page.NextAfter {
		fmt.Fprintf(&b, "id: %d\n\n", page.NextAfter)
	}
	return b.Bytes(), nil
}

// endStream tells the client why nothing follows, unless the service only stops.
func (d *door) endStream(c echo.Context, err error) error {
	var refusal *api.Refusal
	switch {
	case errors.As(err, &refusal):
		problem, err := encodeJSON(refusal)
		if err != nil {
			return fmt.Errorf("end of a stream: %w", err)
		}
		_ = writeSoon(c, fmt.Appendf(nil, "event: refusal\ndata: %s\n", problem)) // the client may be gone
	case !errors.Is(err, io.EOF) && !gone(c.Request()):
		d.Log.ErrorContext(c.Request().Context(), "stream failed", "request_id", requestID(c), "error", err.Error())
	}
	return nil
}

// writeSoon writes and flushes within writePatience, so that a client that does not read holds nothing up.
func writeSoon(c echo.Context, text []byte) error {
	control := http.NewResponseController(c.Response())
	// A deadline long past ends a write under way.
	late := time.AfterFunc(writePatience, func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	defer late.Stop()
	if _, err := c.Response().Write(text); err != nil {
		return err
	}
	return control.Flush()
}
