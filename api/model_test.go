package api_test

import (
	"strings"

	"aanet/api"
	"aanet/api/apitest"
	"aanet/billing"
)

// model is the contract of files, locks, keys and money in memory. Each method gives the code of the
// refusal that is due, "" for a success, and then does what the call does. Leases never run out here.
type model struct {
	keys    []*modelKey // the first is the owner's
	files   map[string]*modelFile
	locks   map[string]*modelLock
	balance int64
	price   int64 // of the last success
}

type modelKey struct {
	agent        apitest.Agent
	scope        string // "" is everything
	limit, spent int64  // a limit of 0 is none
	revoked      bool
}

type modelFile struct{ content, etag string }

type modelLock struct {
	holder int // index of the key, -1 when nobody
	token  int64
}

// judge goes through the refusals in their order and charges a success.
func (m *model) judge(key int, name string, price billing.Units, state func() string) string {
	k := m.keys[key]
	m.price = 0
	switch {
	case k.revoked:
		return "UNAUTHENTICATED"
	case k.scope != "" && !api.InScope(k.scope, name):
		return "SCOPE_DENIED"
	}
	if code := state(); code != "" {
		return code
	}
	switch units := int64(price); {
	case m.balance < units:
		return "INSUFFICIENT_BALANCE"
	case units > 0 && k.limit > 0 && k.spent+units > k.limit:
		return "BUDGET_EXCEEDED"
	default:
		m.balance -= units
		k.spent += units
		m.price = units
		return ""
	}
}

// remaining is what the key is told that it can still spend.
func (m *model) remaining(key int) int64 {
	k := m.keys[key]
	if k.limit == 0 {
		return m.balance
	}
	return min(m.balance, max(k.limit-k.spent, 0))
}

// clash tells why no file can be made at path.
func (m *model) clash(path string) string {
	code := ""
	for other := range m.files {
		if strings.HasPrefix(other, path+"/") {
			return "IS_DIRECTORY"
		}
		if strings.HasPrefix(path, other+"/") {
			code = "NOT_A_DIRECTORY"
		}
	}
	return code
}

// writable tells why a write on the condition of an etag ("" is none) is refused.
func (m *model) writable(path, ifMatch string) string {
	f := m.files[path]
	if f == nil {
		if code := m.clash(path); code != "" {
			return code
		}
	}
	if ifMatch != "" && (f == nil || f.etag != ifMatch) {
		return "CONFLICT"
	}
	return ""
}

func (m *model) write(key int, path, content, ifMatch, etag string) string {
	code := m.judge(key, path, billing.PriceOf("write_file").For(len(content)), func() string { return m.writable(path, ifMatch) })
	if code == "" {
		m.files[path] = &modelFile{content, etag}
	}
	return code
}

func (m *model) append(key int, path, content, ifMatch, etag string) string {
	code := m.judge(key, path, billing.PriceOf("append_file").For(len(content)), func() string { return m.writable(path, ifMatch) })
	if code == "" {
		if m.files[path] == nil {
			m.files[path] = &modelFile{}
		}
		m.files[path].content += content
		m.files[path].etag = etag
	}
	return code
}

func (m *model) delete(key int, path, ifMatch string) string {
	code := m.judge(key, path, 1, func() string {
		switch f := m.files[path]; {
		case f == nil && m.clash(path) == "IS_DIRECTORY":
			return "IS_DIRECTORY"
		case f == nil:
			return "NOT_FOUND"
		case ifMatch != "" && ifMatch != f.etag:
			return "CONFLICT"
		}
		return ""
	})
	if code == "" {
		delete(m.files, path)
	}
	return code
}

func (m *model) read(key int, path string) string {
	return m.judge(key, path, 1, func() string {
		if m.files[path] == nil && m.clash(path) != "IS_DIRECTORY" {
			return "NOT_FOUND"
		}
		return ""
	})
}

func (m *model) lock(name string) *modelLock {
	if m.locks[name] == nil {
		m.locks[name] = &modelLock{holder: -1}
	}
	return m.locks[name]
}

func (m *model) acquire(key int, name string) string {
	l := m.lock(name)
	code := m.judge(key, name, 5, func() string {
		if l.holder >= 0 && l.holder != key {
			return "LOCK_HELD"
		}
		return ""
	})
	if code == "" && l.holder != key {
		l.holder = key
		l.token++
	}
	return code
}

// mine tells why the key may neither renew nor release.
func (m *model) mine(key int, name string) string {
	switch l := m.lock(name); l.holder {
	case -1:
		return "NOT_FOUND"
	case key:
		return ""
	default:
		return "NOT_LOCK_HOLDER"
	}
}

func (m *model) renew(key int, name string) string {
	return m.judge(key, name, 2, func() string { return m.mine(key, name) })
}

func (m *model) release(key int, name string) string {
	l, at := m.lock(name), name
	if l.holder == key {
		at = m.keys[key].scope // its holder may, whatever the scope
	}
	code := m.judge(key, at, 0, func() string { return m.mine(key, name) })
	if code == "" {
		l.holder = -1
	}
	return code
}

// revoke revokes a sub-key and gives how many locks became free.
func (m *model) revoke(key int) (freed int) {
	m.keys[key].revoked = true
	for _, l := range m.locks {
		if l.holder == key {
			l.holder = -1
			freed++
		}
	}
	return freed
}
