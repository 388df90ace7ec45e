// Package clienttest serves the real service over HTTP for tests of its clients, and lets it be away.
package clienttest

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/rest"
)

// Service is one replica with its REST door, on a database of its own.
type Service struct {
	*apitest.World
	URL string

	server *httptest.Server
	away   atomic.Bool
}

// Serve starts a service; it ends with the test.
func Serve(t testing.TB, o apitest.Options) *Service {
	t.Helper()
	s := &Service{World: apitest.New(t, o)}
	door := rest.New(s.Service, rest.Options{
		PublicURL: "http://aanet.example", Log: slog.New(slog.DiscardHandler), Metrics: api.NewMetrics(prometheus.NewRegistry()), Version: "test",
		Ready: func(context.Context) error { return nil },
	})
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			panic(http.ErrAbortHandler) // hangs up
		}
		door.ServeHTTP(w, r)
	}))
	s.URL = s.server.URL
	t.Cleanup(s.server.Close)
	t.Cleanup(s.Service.Drain)
	return s
}

// Away makes the service hang up on every call from now on, and on those under way; or be there again.
func (s *Service) Away(away bool) {
	s.away.Store(away)
	if away {
		s.Cut()
	}
}

// Cut closes all connections, whatever goes over them.
func (s *Service) Cut() { s.server.CloseClientConnections() }
