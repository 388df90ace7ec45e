package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"aanet/api/client"
)

// Messages come once and in order although the service is cut off between them and away for a while.
func TestMessagesAreFollowedThroughOutages(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, id := s.agent(t)
	send := func(text string) {
		if _, err := s.owner.SendMessage(t.Context(), client.SendMessageIn{Body: text, ToSubkeyID: &id, Topic: new("work")}); err != nil {
			t.Error(err)
		}
	}
	send("1")
	send("2")
	troubles := atomic.Int64{}
	in := client.FollowMessagesIn{Topic: new("work"), OnTrouble: func(error) { troubles.Add(1) }}
	var got []string
	for m, err := range agent.FollowMessages(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Body)
		switch m.Body {
		case "2":
			// The follower asks again while nobody answers, and gets what was sent meanwhile.
			s.Away(true)
			go func() {
				for troubles.Load() == 0 {
					time.Sleep(5 * time.Millisecond)
				}
				s.Away(false)
				send("3")
				send("4")
			}()
		case "3":
			s.Cut()
		}
		if m.Body == "4" {
			break
		}
	}
	if !slices.Equal(got, []string{"1", "2", "3", "4"}) {
		t.Error(got)
	}
}

func TestFollowersEnd(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, id := s.agent(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := errors.New("enough")
	defer cancel(nil)
	if _, err := agent.WriteFile(ctx, client.WriteFileIn{Path: "a", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	for _, err := range agent.FollowEvents(ctx, client.FollowEventsIn{After: new(int64(0)), Types: []string{"file_write"}}) {
		if err == nil {
			cancel(done)
			continue
		}
		if !errors.Is(err, done) {
			t.Error(err)
		}
	}
	if _, err := s.owner.RevokeSubkey(t.Context(), client.RevokeSubkeyIn{SubkeyID: id}); err != nil {
		t.Fatal(err)
	}
	for _, err := range agent.FollowMessages(t.Context(), client.FollowMessagesIn{}) {
		if !errors.Is(err, client.CodeUnauthenticated) {
			t.Error(err)
		}
	}
	for _, err := range s.owner.FollowEvents(t.Context(), client.FollowEventsIn{After: new(int64(1 << 40))}) {
		if !errors.Is(err, client.CodeInvalidArgument) {
			t.Error(err)
		}
	}
}

// Events of the real feed come once and in order over a stream that is cut again and again.
func TestEventsAreFollowedOverCutStreams(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, _ := s.agent(t)
	const files = 6
	write := func(i int) {
		if _, err := agent.WriteFile(t.Context(), client.WriteFileIn{Path: fmt.Sprintf("work/%d", i), Content: "x"}); err != nil {
			t.Error(err)
		}
	}
	write(0)
	var got []string
	last := int64(0)
	in := client.FollowEventsIn{After: new(int64(0)), Types: []string{"file_write"}, PathPrefix: new("work")}
	for e, err := range agent.FollowEvents(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq <= last {
			t.Errorf("seq %d after %d", e.Seq, last)
		}
		last = e.Seq
		got = append(got, *e.Path)
		if len(got) == files {
			break
		}
		s.Cut()
		write(len(got))
	}
	if !slices.Equal(got, []string{"work/0", "work/1", "work/2", "work/3", "work/4", "work/5"}) {
		t.Error(got)
	}
}

// A server that cuts within an event, repeats what was sent, says nothing, and refuses.
func TestBadStreams(t *testing.T) {
	t.Parallel()
	event := func(seq int) string {
		return fmt.Sprintf("id: %d\r\nevent: file_write\r\ndata: {\"seq\":%d,\"type\":\"file_write\",\r\ndata: \"path\":\"p%d\"}\r\n\r\n", seq, seq, seq)
	}
	turns := []struct{ after, text string }{
		{"", "id: 10\n\n" + event(11) + "id: 12\nevent: file_write\ndata: {\"seq\":12"}, // cut within 12
		{"11", ": a comment\n\n" + event(11) + event(12)},                               // 11 again
		{"12", "id: 20\n\n"}, // nothing for this key up to 20
		{"20", event(21) + "event: refusal\ndata: {\"status\":503,\"code\":\"UNAVAILABLE\",\"detail\":\"x\"}\n\n"},
		{"21", "event: refusal\ndata: {\"status\":402,\"code\":\"INSUFFICIENT_BALANCE\",\"detail\":\"No money.\"}\n\n"},
	}
	var turn atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(turn.Add(1)) - 1
		if i >= len(turns) {
			t.Errorf("asked for the %d. time", i+1)
			return
		}
		if got := r.URL.Query().Get("after"); got != turns[i].after {
			t.Errorf("turn %d begins after %q", i, got)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, turns[i].text)
	}))
	t.Cleanup(server.Close)
	got, end := follow(t, client.New(server.URL, "").InWorkspace("w"))
	if !slices.Equal(got, []int64{11, 12, 21}) || !errors.Is(end, client.CodeInsufficientBalance) {
		t.Errorf("%v, %v", got, end)
	}
}

// follow gives the numbers of all events until the feed ends, and why it does.
func follow(t *testing.T, c *client.Client) (got []int64, end error) {
	t.Helper()
	for e, err := range c.FollowEvents(t.Context(), client.FollowEventsIn{}) {
		if end = err; err == nil {
			got = append(got, e.Seq)
		}
	}
	return got, end
}

// A stream that says nothing at all is dead, although its connection stands: every other one here.
func TestASilentStreamIsOpenedAnew(t *testing.T) {
	t.Parallel()
	var turn atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if turn.Add(1)%2 == 1 {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "id: 1\nevent: file_write\ndata: {\"seq\":1}\n\nevent: refusal\ndata: {\"status\":401,\"code\":\"UNAUTHENTICATED\"}\n\n")
	}))
	t.Cleanup(server.Close)
	got, end := follow(t, client.New(server.URL, "", client.WithSilence(200*time.Millisecond)).InWorkspace("w"))
	if !slices.Equal(got, []int64{1}) || !errors.Is(end, client.CodeUnauthenticated) {
		t.Errorf("%v, %v", got, end)
	}
}

// A receiver that takes its time over an event is no silence of the stream: the one connection goes on.
func TestASlowReceiverKeepsItsStream(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if opened.Add(1) == 1 {
			_, _ = io.WriteString(w, "id: 1\nevent: file_write\ndata: {\"seq\":1}\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(400 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "event: refusal\ndata: {\"status\":401,\"code\":\"UNAUTHENTICATED\"}\n\n")
	}))
	t.Cleanup(server.Close)
	c := client.New(server.URL, "", client.WithSilence(200*time.Millisecond)).InWorkspace("w")
	for _, err := range c.FollowEvents(t.Context(), client.FollowEventsIn{}) {
		if err == nil {
			time.Sleep(500 * time.Millisecond)
		} else if !errors.Is(err, client.CodeUnauthenticated) {
			t.Error(err)
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("the stream was opened %d times", n)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := newSwarm(t)
	agent, _ := s.agent(t)
	for i := range 3 {
		if _, err := agent.WriteFile(t.Context(), client.WriteFileIn{Path: fmt.Sprintf("d/%d", i), Content: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := agent.AcquireLock(t.Context(), client.AcquireLockIn{Name: fmt.Sprint("lock ", i), LeaseSeconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name, err := range agent.Entries(t.Context(), "d") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for lock, err := range agent.HeldLocks(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, lock.Name)
	}
	if !slices.Equal(names, []string{"0", "1", "2", "lock 0", "lock 1", "lock 2"}) {
		t.Error(names)
	}
	seen := int64(0)
	for row, err := range s.owner.Activity(t.Context(), client.GetActivityIn{Limit: 2}) {
		if err != nil || seen != 0 && row.Seq != seen-1 {
			t.Fatal(row, seen, err)
		}
		seen = row.Seq
	}
	if seen != 1 {
		t.Errorf("the log was read back to %d", seen)
	}
	for _, err := range agent.Entries(t.Context(), "d/1") {
		if err == nil {
			t.Error("a file has entries")
		}
	}
}
