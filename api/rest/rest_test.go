package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/api"
	"aanet/api/rest"
	"aanet/api/rest/openapitest"
	"aanet/store"
	"aanet/store/storetest"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// service is the real service on a database of its own, behind a listening REST door.
type service struct {
	t         *testing.T
	url       string
	store     *store.Store
	workspace string
	owner     string
	registry  *prometheus.Registry
	log       *bytes.Buffer
	service   *api.Service
	drain     func() // ends the service as the command does
}

// start opens the door; change may alter its options.
func start(t *testing.T, change func(*rest.Options)) *service {
	t.Helper()
	s := &service{t: t, registry: prometheus.NewRegistry(), log: new(bytes.Buffer)}
	var err error
	s.store, err = store.Open(t.Context(), store.Options{URL: storetest.Database(t), Lanes: 2, PoolSize: 2, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := rest.Options{
		PublicURL: "https://aanet.example", Log: log, Metrics: api.NewMetrics(s.registry), Version: "test",
		Ready: func(context.Context) error { return nil },
	}
	if change != nil {
		change(&o)
	}
	svc := api.NewService(s.store, api.Config{TrialTTL: 24 * time.Hour, PublicURL: o.PublicURL}, time.Now, log)
	parking := rest.NewParking(time.Now)
	o.Parking = parking
	server := httptest.NewUnstartedServer(rest.New(svc, o))
	server.Listener = parking.Listen(server.Listener)
	server.Start()
	s.url, s.service = server.URL, svc
	s.drain = sync.OnceFunc(func() {
		svc.Drain()
		if err := errors.Join(server.Config.Shutdown(context.Background()), parking.Drain(context.Background())); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		server.CloseClientConnections() // those that nothing was asked on would be waited for
		s.drain()
		server.Close()
		if err := s.store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	made := s.call("POST", "/v1/workspaces/trial", "").is(201)
	s.workspace, s.owner = made.text("workspace_id"), made.text("owner_key")
	act := store.Act{By: "cli:test", Reason: "test"}
	if err := s.store.Credit(t.Context(), act, uuid.MustParse(s.workspace), uuid.New(), 1_000_000, false); err != nil {
		t.Fatal(err)
	}
	return s
}

// at is the address of something in the workspace.
func (s *service) at(rest string) string { return "/v1/workspaces/" + s.workspace + rest }

// answer is what came back, its body read and, when it is JSON, decoded.
type answer struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	body   string
	json   map[string]any
}

// call sends a request with the owner key. Headers are "Name: value"; one without a value is removed.
func (s *service) call(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.owner != "" {
		r.Header.Set("Authorization", "Bearer "+s.owner)
	}
	r.Header.Set("Accept-Encoding", "identity")
	replaced := map[string]bool{}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if !replaced[name] {
			r.Header.Del(name)
			replaced[name] = true
		}
		if value != "" {
			r.Header.Add(name, value)
		}
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	return s.do(r)
}

func (s *service) do(r *http.Request) answer {
	s.t.Helper()
	response, err := openapitest.Checked(s.t, nil).RoundTrip(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	a := answer{t: s.t, what: r.Method + " " + r.URL.RequestURI(), status: response.StatusCode, header: response.Header, body: string(raw)}
	if strings.Contains(response.Header.Get("Content-Type"), "json") && response.Header.Get("Content-Encoding") == "" && r.Method != "HEAD" {
		if err := json.Unmarshal(raw, &a.json); err != nil {
			s.t.Fatalf("%s: %v in %s", a.what, err, raw)
		}
	}
	return a
}

// is checks the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: %d, want %d: %.300s", a.what, a.status, status, a.body)
	}
	return a
}

// refused checks that the answer is a problem object with this code and its status.
func (a answer) refused(code api.Code) answer {
	a.t.Helper()
	a.is(api.Codes()[code])
	if a.json["code"] != string(code) || a.json["status"] != float64(a.status) || a.header.Get("Content-Type") != "application/problem+json" {
		a.t.Fatalf("%s: not a problem with code %s: %s %s", a.what, code, a.header.Get("Content-Type"), a.body)
	}
	return a
}

// faults gives the fields that INVALID_ARGUMENT names.
func (a answer) faults() string {
	a.t.Helper()
	a.refused(api.InvalidArgument)
	var fields []string
	for _, f := range a.json["errors"].([]any) {
		fields = append(fields, f.(map[string]any)["field"].(string))
	}
	return strings.Join(fields, " ")
}

func (a answer) text(field string) string {
	a.t.Helper()
	s, ok := a.json[field].(string)
	if !ok {
		a.t.Fatalf("%s: no text %s in %s", a.what, field, a.body)
	}
	return s
}

// has checks one header.
func (a answer) has(name, want string) answer {
	a.t.Helper()
	if got := a.header.Get(name); got != want {
		a.t.Fatalf("%s: %s is %q, want %q", a.what, name, got, want)
	}
	return a
}
