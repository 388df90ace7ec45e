package api

import (
	"context"
	"sync"
	"time"

	"aanet/billing/x402"
	"aanet/store"
)

// The states of the service and of its parts.
const (
	StateOK       = "ok"
	StateDegraded = "degraded" // works, but slower or not for everything
	StateDown     = "down"
	StateOff      = "off" // not configured here
	StateUnknown  = "unknown"
)

const (
	statusKept = 3 * time.Second // how long an answer is shown
	statusTime = 2 * time.Second // what looking may take

	lagMost     = time.Minute // webhooks served later than this are late
	jobsQuiet   = 10 * time.Minute
	lanesFull   = 0.5 // of a lane's room
	answersSlow = 500 * time.Millisecond
)

// Status is the state of the service as anybody may see it. It is looked at anew every three seconds at most.
type Status struct {
	State        string            `json:"state"`
	LookedAt     Time              `json:"looked_at"`
	Database     DatabaseState     `json:"database"`
	Lanes        LanesState        `json:"lanes"`
	Jobs         JobsState         `json:"background_jobs"`
	Webhooks     WebhooksState     `json:"webhooks"`
	Waiting      WaitingState      `json:"waiting"`
	Networks     []NetworkState    `json:"networks"`
	Facilitators []FacilitatorSeen `json:"facilitators"`
}

// DatabaseState tells how long the database took to answer; null when it did not.
type DatabaseState struct {
	State        string `json:"state"`
	Milliseconds *int64 `json:"answer_ms"`
}

// LanesState tells how many lanes this replica has, and how many calls wait for them now.
type LanesState struct {
	State   string `json:"state"`
	Lanes   int    `json:"lanes"`
	Waiting int    `json:"calls_waiting"`
}

// JobsState tells when a background job last ended well, and how many failed within an hour.
type JobsState struct {
	State      string `json:"state"`
	LastDone   *Time  `json:"last_done_at"`
	FailedHour int    `json:"failed_last_hour"`
}

// WebhooksState tells how late deliveries begin to endpoints that work: the longest wait of one that is due now.
type WebhooksState struct {
	State      string `json:"state"`
	Due        int    `json:"endpoints_due"`
	LagSeconds int64  `json:"delivery_lag_seconds"`
}

// WaitingState tells how many calls and streams wait in this replica, and in how many replicas there are such; null when
// the database does not answer.
type WaitingState struct {
	Calls    int  `json:"calls_here"`
	Replicas *int `json:"replicas_with_waiting_calls"`
}

// NetworkState tells whether deposits on a network are taken now.
type NetworkState struct {
	Network string `json:"network"`
	Name    string `json:"name"`
	State   string `json:"state"`
}

// FacilitatorSeen tells what a facilitator said last.
type FacilitatorSeen struct {
	Name       string   `json:"name"`
	State      string   `json:"state"`
	AskedAt    *Time    `json:"last_asked_at"`
	AnsweredAt *Time    `json:"last_answered_at"`
	Networks   []string `json:"networks"`
}

// statusLook keeps the last look.
type statusLook struct {
	sync.Mutex
	last Status
	at   time.Time
}

// Status looks at the service, or gives the last look when it is fresh.
func (s *Service) Status(ctx context.Context) Status {
	look := &s.status
	look.Lock()
	defer look.Unlock()
	now := s.guards.now()
	if look.at.IsZero() || now.Sub(look.at) >= statusKept || now.Before(look.at) {
		look.last, look.at = s.look(ctx, now), now
	}
	return look.last
}

// look is independent of the one who asked first: the others get its answer too.
func (s *Service) look(ctx context.Context, now time.Time) Status {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTime)
	defer cancel()
	out := Status{LookedAt: Time{now}, Waiting: WaitingState{Calls: s.store.Waiting()}}
	lanes, waiting, fullest := s.store.LaneQueues()
	out.Lanes = LanesState{State: worseIf(fullest >= lanesFull), Lanes: lanes, Waiting: waiting}
	health, err := s.store.Health(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "status: the database does not answer", "error", err.Error())
		out.Database.State, out.Jobs.State, out.Webhooks.State = StateDown, StateUnknown, StateUnknown
		out.Lanes.State = StateUnknown
	} else {
		out.see(health)
	}
	out.Networks, out.Facilitators = s.payments()
	out.State = out.overall()
	return out
}

// see takes over what the database shows.
func (out *Status) see(h store.Health) {
	ms := h.Took.Milliseconds()
	out.Database = DatabaseState{worseIf(h.Took > answersSlow), &ms}
	out.Waiting.Replicas = &h.Replicas
	out.Webhooks = WebhooksState{State: StateOK, Due: h.Due}
	if h.OldestDue != nil {
		lag := h.Now.Sub(*h.OldestDue)
		out.Webhooks.LagSeconds, out.Webhooks.State = int64(lag/time.Second), worseIf(lag > lagMost)
	}
	out.Jobs = JobsState{State: StateUnknown, FailedHour: h.FailedJobs}
	if h.LastJob != nil {
		out.Jobs.LastDone = &Time{*h.LastJob}
		out.Jobs.State = worseIf(h.Now.Sub(*h.LastJob) > jobsQuiet || h.FailedJobs > 0)
	}
}

// payments tells what can be paid on. A facilitator's fault is for the operator: it may name hosts of ours.
func (s *Service) payments() (networks []NetworkState, seen []FacilitatorSeen) {
	networks, seen = []NetworkState{}, []FacilitatorSeen{}
	if s.config.Deposits == nil {
		for _, n := range x402.Networks() {
			networks = append(networks, NetworkState{n.ID, n.Name, StateOff})
		}
		return networks, seen
	}
	gateway := s.config.Deposits.Gateway
	live := map[string]bool{}
	for _, n := range gateway.Live() {
		live[n.ID] = true
	}
	for _, n := range x402.Networks() {
		state := StateOK
		switch {
		case gateway.PayTo(n.ID) == "":
			state = StateOff
		case !live[n.ID]:
			state = StateDown
		}
		networks = append(networks, NetworkState{n.ID, n.Name, state})
	}
	for _, f := range gateway.Status() {
		one := FacilitatorSeen{Name: f.Name, State: StateOK, AskedAt: unlessZero(f.Asked), AnsweredAt: unlessZero(f.Answered), Networks: []string{}}
		switch {
		case !f.Live && f.Answered.IsZero() && f.Fault == "":
			one.State = StateUnknown // not asked yet, or no answer yet
		case !f.Live:
			one.State = StateDown
		case f.Fault != "":
			one.State = StateDegraded
		}
		for _, n := range f.Networks {
			one.Networks = append(one.Networks, n.Name)
		}
		seen = append(seen, one)
	}
	return networks, seen
}

func unlessZero(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// overall is down only when no call can be served; what is off is no fault.
func (out *Status) overall() string {
	if out.Database.State == StateDown {
		return StateDown
	}
	states := []string{out.Database.State, out.Lanes.State, out.Jobs.State, out.Webhooks.State}
	for _, n := range out.Networks {
		states = append(states, n.State)
	}
	for _, state := range states {
		if state == StateDown || state == StateDegraded {
			return StateDegraded
		}
	}
	return StateOK
}

func worseIf(worse bool) string {
	if worse {
		return StateDegraded
	}
	return StateOK
}
