package rest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
)

// TestUnreadBodies: an answer does not wait for the rest of a body that nobody wants, and neither does the
// connection; one whose body was read serves the next request.
func TestUnreadBodies(t *testing.T) {
	e := echo.New()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			boundUnread(c, 100*time.Millisecond)
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
		_ = connection.SetDeadline(time.Now().Add(3 * time.Second))
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
