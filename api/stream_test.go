package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/api/rest"
	"aanet/api/rest/openapitest"
)

// serveREST serves a replica's REST door and gives the address of the workspace's events.
func serveREST(t *testing.T, ws *apitest.Workspace) string {
	t.Helper()
	parking := rest.NewParking(time.Now)
	address := listen(t, rest.New(ws.Service, rest.Options{
		Parking: parking, PublicURL: "http://aanet.example", Log: doorLog(t), Metrics: api.NewMetrics(prometheus.NewRegistry()), Version: "test",
		Ready: func(context.Context) error { return nil },
	}), parking)
	t.Cleanup(ws.Service.Drain)
	return address + "/v1/workspaces/" + ws.ID + "/events"
}

// piece is one server-sent event; one without a name only moves the id.
type piece struct{ id, name, data string }

// stream is an open stream of events.
type stream struct {
	header http.Header
	pieces chan piece // closed at the end
	hangUp func()
}

func openStream(t *testing.T, address, key, lastID string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+key)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := openapitest.Client(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream answers %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	s := &stream{answer.Header, make(chan piece, 1000), cancel}
	t.Cleanup(cancel)
	go func() {
		defer close(s.pieces)
		defer answer.Body.Close()
		var p piece
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				p.id = value
			case "event":
				p.name = value
			case "data":
				p.data = value
			case "":
				s.pieces <- p
				p = piece{}
			}
		}
	}()
	return s
}

// next is the next piece with a name; false at the end of the stream.
func (s *stream) next(t *testing.T) (piece, bool) {
	t.Helper()
	for {
		select {
		case p, open := <-s.pieces:
			if p.name != "" || !open {
				return p, open
			}
		case <-time.After(patience):
			t.Fatal("nothing comes")
		}
	}
}

func TestStreamOfEvents(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 1000)
	address := serveREST(t, ws)
	a := ws.Mint(t)
	ws.Owner.Write(t, "old", "x")
	s := openStream(t, address, a.Key, "")
	same(t, "cost", s.header.Get("X-AANet-Cost"), "1")
	first := <-s.pieces
	same(t, "the cursor is told at once", first, piece{id: fmt.Sprint(ws.Last(t).Seq)})
	ws.Owner.Write(t, "<new>", "x")
	got, _ := s.next(t)
	var shown map[string]any
	if err := json.Unmarshal([]byte(got.data), &shown); err != nil || shown["path"] != "<new>" || !strings.Contains(got.data, "<new>") || got.name != "file_write" || got.id != fmt.Sprint(shown["seq"]) {
		t.Errorf("got %+v, %v", got, err)
	}
	again := openStream(t, address+"?after=0&types=file_write", a.Key, got.id) // the header counts
	ws.Owner.Write(t, "third", "x")
	for _, open := range []*stream{s, again} {
		if third, _ := open.next(t); !strings.Contains(third.data, "third") {
			t.Errorf("got %+v", third)
		}
	}
	ws.Revoke(t, a)
	end, _ := s.next(t)
	for end.name == "lock_available" {
		end, _ = s.next(t)
	}
	if _, open := s.next(t); open || end.name != "refusal" {
		t.Errorf("the stream of a revoked key ends with %+v", end)
	}
	var problem strings.Builder
	encoder := json.NewEncoder(&problem)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(api.Refuse(api.Unauthenticated)); err != nil {
		t.Fatal(err)
	}
	same(t, "the problem is that of any call", end.data, strings.TrimSpace(problem.String()))
	own := openStream(t, address, ws.Owner.Key, "")
	ws.Service.Drain()
	if p, open := own.next(t); open {
		t.Errorf("a stream goes on with %+v while the service stops", p)
	}
	ws.CheckLedger(t)
}

func TestStreamIsRefusedAsACallIs(t *testing.T) {
	t.Parallel()
	ws := apitest.New(t, apitest.Options{}).Workspace(t, 0)
	address := serveREST(t, ws)
	for _, c := range []struct {
		query, key, lastID string
		want               int
	}{
		{"", ws.Owner.Key, "", 402}, {"", "x", "", 401}, {"?after=9000", ws.Owner.Key, "", 422}, {"", ws.Owner.Key, "x", 422}, {"?types=x", ws.Owner.Key, "", 422},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Authorization", "Bearer "+c.key)
		if c.lastID != "" {
			r.Header.Set("Last-Event-ID", c.lastID)
		}
		answer, err := openapitest.Client(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		same(t, c.query+c.lastID, answer.StatusCode, c.want)
		same(t, "type", answer.Header.Get("Content-Type"), "application/problem+json")
	}
}

// TestEventsAreSeenOnceAndInOrder has a poller and a stream that go back and forth between two replicas
// while both write.
func TestEventsAreSeenOnceAndInOrder(t *testing.T) {
	t.Parallel()
	on := together(t, 1_000_000)
	addresses := [2]string{serveREST(t, on[0]), serveREST(t, on[1])}
	each := 40
	if soak() {
		each = 2000
	}
	var all sync.WaitGroup
	for writer := range 4 {
		all.Go(func() {
			for i := range each {
				on[writer%2].Owner.Write(t, fmt.Sprint("f", writer), fmt.Sprint(i))
				on[writer%2].Owner.Send(t, "m")
			}
		})
	}
	var polled, streamed []int64
	all.Go(func() {
		after := any(0)
		for i := 0; len(polled) < 8*each && !t.Failed(); i++ {
			r := on[i%2].Owner.OK(t, "wait", args{"after": after, "wait_seconds": 5, "limit": 1 + i%50})
			for _, e := range events(r) {
				polled = append(polled, apitest.Int(e["seq"]))
			}
			after = r.Body["next_after"]
		}
	})
	last, random := "0", rand.New(rand.NewPCG(1, 2))
	for i := 0; len(streamed) < 8*each && !t.Failed(); i++ {
		s := openStream(t, addresses[i%2], on[0].Owner.Key, last)
		for range random.IntN(60) {
			p, open := <-s.pieces
			if !open {
				break
			}
			last = p.id
			if p.name != "" {
				seq, _ := strconv.ParseInt(p.id, 10, 64)
				streamed = append(streamed, seq)
			}
			if len(streamed) == 8*each {
				break
			}
		}
		s.hangUp()
	}
	all.Wait()
	var want []int64
	for _, row := range on[0].Log(t) {
		if row.Operation == "PUT_FILE" || row.Operation == "SEND_MESSAGE" {
			want = append(want, row.Seq)
		}
	}
	if !slices.Equal(polled, want) || !slices.Equal(streamed, want) {
		t.Errorf("%d events: the poller saw %d, the stream %d, or not in order", len(want), len(polled), len(streamed))
	}
	on[0].CheckLedger(t)
}
