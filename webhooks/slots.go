package webhooks

import (
	"maps"
	"sync"
	"time"

	"aanet/store"

	"github.com/google/uuid"
)

// Shares of the slots, so that whoever does not answer, or not at once, leaves room for all others.
const (
	hostFraction      = 4 // of the share of those that do not answer at once, for one host and port; half of all slots for those that do
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
	hosts      map[hostStanding]int
	workspaces map[uuid.UUID]map[store.Standing]int
	paused     map[endpoint]time.Time // until when they are left alone
}

// hostStanding is what is counted of a host: those that answer at once do not suffer for the others there.
type hostStanding struct {
	host     string
	standing store.Standing
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
		size: size, now: now, busy: map[endpoint]*slot{}, classes: map[store.Standing]int{}, hosts: map[hostStanding]int{},
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
	looks := map[store.Standing]*store.Look{store.Prompt: &room.Prompt, store.Unproven: &room.Unproven, store.Failing: &room.Failing}
	for standing, look := range looks {
		if !t.full(standing) {
			look.Limit = most
		}
	}
	for at, n := range t.hosts {
		if n >= t.hostMax(at.standing) {
			look := looks[at.standing]
			look.Without = append(look.Without, at.host)
		}
	}
	return room
}

// hostMax is how many slots one host may hold of a standing.
func (t *slotTable) hostMax(standing store.Standing) int {
	if standing == store.Prompt {
		return max(t.size/2, 1)
	}
	return max(t.shareOf(standing)/hostFraction, 1)
}

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
	case t.full(d.Standing), t.hosts[hostStanding{d.Host, d.Standing}] >= t.hostMax(d.Standing), all >= workspaceMax:
		return false
	case d.Standing != store.Prompt && held[d.Standing] > 0 && t.contended(d.Standing):
		return false
	}
	own := &slot{standing: d.Standing, host: d.Host}
	t.busy[at] = own
	t.count(d.Workspace, own, 1)
	return true
}

// count changes what is held by a slot's standing, host and workspace.
func (t *slotTable) count(workspace uuid.UUID, own *slot, by int) {
	standing, host := own.standing, hostStanding{own.host, own.standing}
	t.classes[standing] += by
	if t.hosts[host] += by; t.hosts[host] == 0 {
		delete(t.hosts, host)
	}
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
		t.count(at.workspace, own, -1)
		own.standing = standing
		t.count(at.workspace, own, 1)
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
	look = own.again || t.full(own.standing) || t.hosts[hostStanding{own.host, own.standing}] >= t.hostMax(own.standing) || held >= workspaceMax || t.contended(own.standing)
	delete(t.busy, at)
	t.count(at.workspace, own, -1)
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
