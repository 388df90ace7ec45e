package chaintest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Front is a JSON-RPC server on loopback before a chain. It passes every call on, unless a test tells it to misbehave.
type Front struct {
	// URL is where it answers.
	URL string

	call   func(ctx context.Context, method string, params []json.RawMessage) (json.RawMessage, *RPCError)
	mu     sync.Mutex
	fault  Fault
	called []string
}

// RPCError is how a node refuses a call.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Call is one question to a node.
type Call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// Fault looks at a call before the chain does; true means that it has answered, or has taken care that nobody does.
type Fault func(w http.ResponseWriter, r *http.Request, c Call) bool

func startFront(t testing.TB, call func(context.Context, string, []json.RawMessage) (json.RawMessage, *RPCError)) *Front {
	f := &Front{call: call}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections() // those that a fault keeps waiting
		server.Close()
	})
	f.URL = server.URL
	return f
}

// Break makes the server misbehave from now on; nil heals it.
func (f *Front) Break(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// Called counts the calls of a method so far.
func (f *Front) Called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(f.called), func(m string) bool { return m != method }))
}

// ServeHTTP answers one call.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var question Call
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
		http.Error(w, "not a call", http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	fault := f.fault
	f.called = append(f.called, question.Method)
	f.mu.Unlock()
	if fault != nil && fault(w, r, question) {
		return
	}
	f.answer(w, r, question, http.StatusOK, func(map[string]any) {})
}

// answer asks the chain and gives what it says, after a change.
func (f *Front) answer(w http.ResponseWriter, r *http.Request, c Call, status int, change func(answer map[string]any)) {
	result, refused := f.call(r.Context(), c.Method, c.Params)
	answer := map[string]any{"jsonrpc": "2.0", "id": c.ID}
	if refused != nil {
		answer["error"] = refused
	} else {
		answer["result"] = result
	}
	change(answer)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // who asked may be gone
}

// Change gives the chain's own answers with a status and after a change.
func (f *Front) Change(status int, change func(answer map[string]any)) Fault {
	return func(w http.ResponseWriter, r *http.Request, c Call) bool {
		f.answer(w, r, c, status, change)
		return true
	}
}

// On limits a fault to some methods; none means all.
func (fault Fault) On(methods ...string) Fault {
	return func(w http.ResponseWriter, r *http.Request, c Call) bool {
		return (len(methods) == 0 || slices.Contains(methods, c.Method)) && fault(w, r, c)
	}
}

// Hang never answers.
func Hang(_ http.ResponseWriter, r *http.Request, _ Call) bool {
	<-r.Context().Done()
	return true
}

// Reset breaks the connection.
func Reset(http.ResponseWriter, *http.Request, Call) bool {
	panic(http.ErrAbortHandler)
}

// Redirect sends to where the truth would be told.
func Redirect(w http.ResponseWriter, r *http.Request, _ Call) bool {
	const elsewhere = "/elsewhere"
	if r.URL.Path == elsewhere {
		return false
	}
	http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	return true
}

// Answer gives a status and a body, whatever was asked.
func Answer(status int, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ Call) bool {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // who asked may be gone
		return true
	}
}

// Result gives a result as a node does.
func Result(value string) Fault {
	return func(w http.ResponseWriter, r *http.Request, c Call) bool {
		return Answer(http.StatusOK, `{"jsonrpc":"2.0","id":`+string(c.ID)+`,"result":`+value+`}`)(w, r, c)
	}
}

// Refuse answers as a node that does not want to.
func Refuse(code int, message string) Fault {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": RPCError{code, message}})
	return Answer(http.StatusOK, string(body))
}
