package webhooks

import (
	"maps"
	"slices"
	"sync"
	"time"

	"aanet/store"

	"github.com/google/uuid"
)

// Shares of the slots, so that whoever does not answer, or not at once, leaves room for all others.
const (
	hostShare         = 8 // of the slots one host and port may hold the eighth part
	workspaceMax      = 8 // slots of one workspace: five active endpoints, and some that were deleted while they were served
	firstComeFraction = 4 // of a class's share; beyond it each workspace gets one slot only
	promptWithin      = 2 * time.Second
)

// slotTable says which endpoints are served now, and who may be next. It is safe for concurrent use.
type slotTable struct {
	size int
	now  func() time.Time

	mu         sync.Mutex
	busy       map[endpoint]*slot
	classes    map[store.Standing]int
	hosts      map[string]int
	workspaces map[uuid.UUID]map[store.Standing]int
	paused     map[endpoint]time.Time // until when they are left alone
}

// slot is taken by an endpoint while it is served.
type slot struct {
	standing store.Standing
	host     string
	again    bool // it was found due meanwhile
}

// endpoint names a webhook.
type endpoint struct{ workspace, webhook uuid.UUID }

func newSlotTable(size int, now func() time.Time) *slotTable {
	return &slotTable{
		size: size, now: now, busy: map[endpoint]*slot{}, classes: map[store.Standing]int{}, hosts: map[string]int{},
		workspaces: map[uuid.UUID]map[store.Standing]int{}, paused: map[endpoint]time.Time{},
	}
}

// shareOf is how many slots endpoints of a standing may hold together. A quarter is left to those that answer at once.
func (t *slotTable) shareOf(standing store.Standing) int {
	switch standing {
	case store.Prompt:
		return t.size
	case store.Unproven:
		return max(t.size/2, 1)
	default:
		return max(t.size/4, 1)
	}
}

func (t *slotTable) full(standing store.Standing) bool {
	return len(t.busy) >= t.size || t.classes[standing] >= t.shareOf(standing)
}

// contended tells whether so many slots of a standing are taken that each workspace gets one only.
func (t *slotTable) contended(standing store.Standing) bool {
	return t.classes[standing] >= max(t.shareOf(standing)/firstComeFraction, 1)
}

// room tells what is worth looking for: up to most endpoints of each standing that has a slot left, at hosts that have.
func (t *slotTable) room(most int) (room store.Room) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range []struct {
		standing store.Standing
		limit    *int
	}{{store.Prompt, &room.Prompt}, {store.Unproven, &room.Unproven}, {store.Failing, &room.Failing}} {
		if !t.full(r.standing) {
			*r.limit = most
		}
	}
	for host, n := range t.hosts {
		if n >= t.hostMax() {
			room.Without = append(room.Without, host)
		}
	}
	slices.Sort(room.Without)
	return room
}

func (t *slotTable) hostMax() int { return max(t.size/hostShare, 1) }

// take reserves a slot for an endpoint that is due. False: it has one, must wait, or others come first.
func (t *slotTable) take(d store.DueWebhook) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := endpoint{d.Workspace, d.Webhook}
	if until, paused := t.paused[at]; paused {
		if t.now().Before(until) {
			return false
		}
		delete(t.paused, at)
	}
	if own := t.busy[at]; own != nil {
		own.again = true // its round may have ended just before the event came
		return false
	}
	held, all := t.workspaces[d.Workspace], 0
	for _, n := range held {
		all += n
	}
	switch {
	case t.full(d.Standing), t.hosts[d.Host] >= t.hostMax(), all >= workspaceMax:
		return false
	case d.Standing != store.Prompt && held[d.Standing] > 0 && t.contended(d.Standing):
		return false
	}
	own := &slot{standing: d.Standing, host: d.Host}
	t.busy[at] = own
	t.hosts[d.Host]++
	t.count(d.Workspace, d.Standing, 1)
	return true
}

// count changes what a workspace holds of a standing.
func (t *slotTable) count(workspace uuid.UUID, standing store.Standing, by int) {
	t.classes[standing] += by
	held := t.workspaces[workspace]
	if held == nil {
		held = map[store.Standing]int{}
		t.workspaces[workspace] = held
	}
	if held[standing] += by; held[standing] == 0 {
		delete(held, standing)
	}
	if len(held) == 0 {
		delete(t.workspaces, workspace)
	}
}

// answered notes what a round showed of an endpoint that is served. It tells whether the endpoint may go on: those that
// do not answer at once make room when others of their standing may be waiting.
func (t *slotTable) answered(at endpoint, prompt bool) (on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.busy[at]
	standing := store.Unproven
	if prompt {
		standing = store.Prompt
	}
	if own.standing != standing {
		t.count(at.workspace, own.standing, -1)
		t.count(at.workspace, standing, 1)
		own.standing = standing
	}
	return prompt || !t.contended(standing)
}

// give frees a slot; a pause above zero leaves the endpoint alone for a while. It tells whether it is worth looking for
// what is due at once: something was not looked for, or not taken, on account of this slot.
func (t *slotTable) give(at endpoint, pause time.Duration) (look bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.busy[at]
	held := 0
	for _, n := range t.workspaces[at.workspace] {
		held += n
	}
	look = own.again || t.full(own.standing) || t.hosts[own.host] >= t.hostMax() || held >= workspaceMax || t.contended(own.standing)
	delete(t.busy, at)
	t.count(at.workspace, own.standing, -1)
	if t.hosts[own.host]--; t.hosts[own.host] == 0 {
		delete(t.hosts, own.host)
	}
	if pause > 0 {
		now := t.now()
		maps.DeleteFunc(t.paused, func(_ endpoint, until time.Time) bool { return until.Before(now) })
		t.paused[at] = now.Add(pause)
	}
	return look
}

// serving counts the slots that are taken.
func (t *slotTable) serving() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.busy)
}
