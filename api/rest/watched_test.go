package rest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aanet/api"

	"github.com/labstack/echo/v4"
)

// TestUnreadBodies: an answer does not wait for the rest of a body that nobody wants, and neither does the
// connection; one whose body was read serves the next request.
func TestUnreadBodies(t *testing.T) {
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			defer watchBody(c, newRoom(0), 100*time.Millisecond)()
			return next(c)
		}
	})
	e.POST("/unread", func(c echo.Context) error { return c.String(http.StatusNotFound, "no") })
	e.POST("/large", func(c echo.Context) error { return c.String(http.StatusNotFound, strings.Repeat("no ", 5000)) })
	e.POST("/read", func(c echo.Context) error {
		_, err := io.Copy(io.Discard, c.Request().Body)
		return err
	})
	server := httptest.NewServer(e)
	defer server.Close()
	const sized, chunked = "Content-Length: 4\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	for request, closes := range map[string]bool{
		"/unread HTTP/1.1\r\nHost: x\r\n" + sized:                                    true,
		"/unread HTTP/1.1\r\nHost: x\r\n" + sized + "ab":                             true,
		"/unread HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n" + sized:            true,
		"/unread HTTP/1.1\r\nHost: x\r\n" + chunked + "2\r\n":                        true,
		"/large HTTP/1.1\r\nHost: x\r\n" + sized:                                     true,
		"/read HTTP/1.1\r\nHost: x\r\n" + sized + "abcd":                             false,
		"/read HTTP/1.1\r\nHost: x\r\n" + chunked + "2\r\nab\r\n0\r\n\r\n":           false,
		"/unread HTTP/1.1\r\nHost: x\r\n\r\n":                                        false,
		"/unread HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n":                   false,
		"/unread HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": true, // unread, though empty
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(connection, "POST "+request); err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(connection)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Errorf("%q: no answer: %v", request, err)
			continue
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Close != closes {
			t.Errorf("%q: the answer says that the connection closes: %v, %v", request, response.Close, err)
		}
		if closes {
			if _, err := reader.ReadByte(); err != io.EOF {
				t.Errorf("%q: the connection is not closed: %v", request, err)
			}
		}
		connection.Close()
	}
}

// TestUnreadLargeBodies: a client that sends all it has before it looks for the answer finds it.
func TestUnreadLargeBodies(t *testing.T) {
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			defer watchBody(c, newRoom(0), time.Minute)()
			return next(c)
		}
	})
	e.POST("/", func(c echo.Context) error { return c.String(http.StatusRequestEntityTooLarge, "no") })
	server := httptest.NewServer(e)
	defer server.Close()
	const size = 32 << 20 // more than the buffers of any connection
	part := strings.Repeat(" ", 1<<20)
	for _, framing := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n", size), "Transfer-Encoding: chunked\r\n\r\n2000000\r\n"} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\n"+framing)
		for sent := 0; sent < size && err == nil; sent += len(part) {
			_, err = io.WriteString(connection, part)
		}
		if err == nil && strings.Contains(framing, "chunked") {
			_, err = io.WriteString(connection, "\r\n0\r\n\r\n")
		}
		if err != nil {
			t.Fatalf("%.30q: the body was not taken: %v", framing, err)
		}
		answer, err := io.ReadAll(connection)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413") || !strings.Contains(string(answer), "no") {
			t.Errorf("%.30q: %q, %v", framing, answer, err)
		}
		connection.Close()
	}
}

// TestRoomForBodies: large bodies share what there is, small ones always pass, and a call that is over gives
// its part back.
func TestRoomForBodies(t *testing.T) {
	all := newRoom(smallBody)
	read := func(size int) (done func(), err error) {
		c := echo.New().NewContext(httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", size))), httptest.NewRecorder())
		done = watchBody(c, all, time.Second)
		_, err = io.Copy(io.Discard, c.Request().Body)
		return done, err
	}
	first, err := read(2 * smallBody)
	if err != nil {
		t.Fatal("the first large body:", err)
	}
	second, err := read(smallBody + 1)
	var refusal *api.Refusal
	if !errors.As(err, &refusal) || refusal.Status() != 503 || refusal.RetryAfter() == 0 {
		t.Errorf("a large body without room: %v", err)
	}
	third, err := read(smallBody)
	if err != nil {
		t.Errorf("a small body: %v", err)
	}
	second()
	third()
	first()
	if left := all.left.Load(); left != smallBody {
		t.Errorf("room of %d bytes is left after all calls, want %d", left, smallBody)
	}
	last, err := read(2 * smallBody)
	if err != nil {
		t.Errorf("a large body after the calls: %v", err)
	}
	last()
}

func TestNoRoomIsUnavailable(t *testing.T) {
	all := newRoom(0)
	c := echo.New().NewContext(httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", smallBody+1))), httptest.NewRecorder())
	c.Request().Header.Set("Content-Type", "application/json")
	defer watchBody(c, all, time.Second)()
	if _, refusal := readBody(c.Response(), c.Request(), time.Second); refusal == nil || refusal.Code != api.Unavailable {
		t.Errorf("a body without room: %v", refusal)
	}
}
