package api_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/rest"
	"aanet/api/rest/openapitest"
)

// REST is the door of programs: each call is a request on a loopback connection.
func REST(t testing.TB, s *api.Service) apitest.Door { return restLogging(t, s, doorLog(t)) }

func restLogging(t testing.TB, s *api.Service, log *slog.Logger) apitest.Door {
	parking := rest.NewParking(time.Now)
	handler := rest.New(s, rest.Options{
		Parking: parking, PublicURL: "http://aanet.example", Log: log, Metrics: api.NewMetrics(prometheus.NewRegistry()), Version: "test",
		Ready: func(context.Context) error { return nil },
	})
	return restDoor{serveParking(t, handler, parking)}
}

type restDoor struct{ client doorClient }

// Call puts the arguments where the operation takes them: in the address, the query or the body.
func (d restDoor) Call(t testing.TB, tool, key, workspace string, args apitest.Args) apitest.Reply {
	t.Helper()
	op := apitest.Operation(t, tool)
	if op == nil {
		return apitest.Reply{}
	}
	r := d.request(t, op, workspace, args)
	if key != "" {
		r.Header["Authorization"] = []string{"Bearer " + key}
	}
	status, header, text := d.client.do(t, r)
	if status == 0 {
		return apitest.Reply{}
	}
	reply := apitest.Reply{Status: status, Replayed: header.Get("Idempotent-Replayed") == "true"}
	var err error
	if reply.Body, err = apitest.Decode(text); err != nil {
		t.Errorf("%s answers %d with %.300q: %v", tool, status, text, err)
	}
	if offered := header.Get("PAYMENT-REQUIRED"); offered != "" {
		document, err := base64.StdEncoding.DecodeString(offered)
		if err != nil || string(document)+"\n" != string(text) || status != http.StatusPaymentRequired {
			t.Errorf("%s answers %d with %.300q and offers %.300q", tool, status, text, document)
		}
	} else if status >= 400 {
		reply.Code = reply.Text("code")
		if header.Get("Content-Type") != "application/problem+json" || reply.Code == "" || reply.Int("status") != int64(status) {
			t.Errorf("%s answers %d, %s, with %.300q: no problem object of that status", tool, status, header.Get("Content-Type"), text)
		}
	}
	if header.Get("X-Request-Id") == "" {
		t.Errorf("%s: no X-Request-Id", tool)
	}
	if wait := header.Get("Retry-After"); wait != "" && wait != fmt.Sprint(reply.Body["retry_after"]) {
		t.Errorf("%s: Retry-After is %s, retry_after %v", tool, wait, reply.Body["retry_after"])
	}
	reply.Cost = units(t, tool, header, "X-AANet-Cost", true)
	if header.Get("X-AANet-Remaining-Balance") != "" {
		reply.Remaining = new(units(t, tool, header, "X-AANet-Remaining-Balance", false))
	}
	return reply
}

func units(t testing.TB, tool string, header http.Header, name string, always bool) int64 {
	t.Helper()
	n, err := strconv.ParseInt(header.Get(name), 10, 64)
	if err != nil && (always || header.Get(name) != "") {
		t.Errorf("%s: %s is %q", tool, name, header.Get(name))
	}
	return n
}

func (d restDoor) request(t testing.TB, op *api.Op, workspace string, args apitest.Args) *http.Request {
	t.Helper()
	rest := apitest.Args{"workspace_id": workspace}
	header := http.Header{}
	for name, value := range args {
		if _, inHeader := value.(api.FromHeader); inHeader {
			header.Set("If-None-Match", "*")
		} else if key, isText := value.(string); name == "idempotency_key" && isText {
			header.Set(api.IdempotencyHeader, key)
		} else if name != "idempotency_key" || value != nil {
			rest[name] = value
		}
	}
	u := d.client.url
	u.RawPath = op.Path
	for _, name := range op.PathParams() {
		value, given := inAddress(rest, name)
		if given { // the rest stays in the body or the query, where it is refused
			delete(rest, name)
		}
		u.RawPath = strings.Replace(strings.Replace(u.RawPath, "{"+name+"...}", value, 1), "{"+name+"}", value, 1)
	}
	if !op.InWorkspace() {
		delete(rest, "workspace_id")
	}
	var err error
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		t.Fatal(err)
	}
	var body []byte
	if op.HasBody() {
		body = encoded(t, op, rest)
		header.Set("Content-Type", "application/json")
	} else {
		u.RawQuery = query(rest)
	}
	r := &http.Request{Method: op.Method, URL: &u, Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
	return r.WithContext(t.Context())
}

// inAddress is an argument as a segment of an address, or as several for a path. What cannot be one, or would
// make it the address of something else, is not given there.
func inAddress(rest apitest.Args, name string) (segment string, given bool) {
	value, isText := rest[name].(string)
	switch {
	case !isText || value == "" && name == "name":
		return "-", false
	case name == "path" && value == "/": // the root ends with the slash that stands before its name
		return "", true
	case name == "path" || name == "name":
		return strings.ReplaceAll(url.PathEscape(value), "%2F", "/"), true
	}
	return url.PathEscape(value), true
}

// query writes arguments as the parameters of an address; null is none.
func query(args apitest.Args) string {
	values := url.Values{}
	for name, value := range args {
		if value != nil {
			values.Set(name, fmt.Sprint(value))
		}
	}
	return values.Encode()
}

// doorClient makes requests to one door.
type doorClient struct {
	url  url.URL
	http *http.Client
}

// serveDoor serves a door until the test ends.
func serveDoor(t testing.TB, handler http.Handler) doorClient {
	t.Helper()
	return serveParking(t, handler, rest.NewParking(time.Now))
}

// listen serves a handler until the test ends, and gives its address.
func listen(t testing.TB, handler http.Handler, parking *rest.Parking) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Listener = parking.Listen(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func serveParking(t testing.TB, handler http.Handler, parking *rest.Parking) doorClient {
	t.Helper()
	u, err := url.Parse(listen(t, handler, parking))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return doorClient{*u, &http.Client{Transport: openapitest.Checked(t, transport)}}
}

// do makes a request; status 0 is a failure that the test has been told of.
func (c doorClient) do(t testing.TB, r *http.Request) (status int, header http.Header, body []byte) {
	t.Helper()
	answer, err := c.http.Do(r)
	if err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
		return 0, nil, nil
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		t.Errorf("%s: %v", r.URL.Path, err)
		return 0, nil, nil
	}
	return answer.StatusCode, answer.Header, body
}

// doorLog turns what a door logs as a warning or an error into a failure of the test: no story may cause one.
func doorLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(logged{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type logged struct{ t testing.TB }

func (l logged) Write(line []byte) (int, error) {
	l.t.Errorf("the door logged: %s", line)
	return len(line), nil
}
