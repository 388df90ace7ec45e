package mcp

import (
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"aanet/api"
)

// TestBodyRefusedOutside: what serves this door may refuse a body while it is read, and its refusal is the answer.
func TestBodyRefusedOutside(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp", iotest.ErrReader(api.Refuse(api.Unavailable)))
	r.Header.Set("Content-Type", "application/json")
	if _, refusal := new(door).readBody(httptest.NewRecorder(), r); refusal == nil || refusal.Code != api.Unavailable {
		t.Errorf("refused with %v", refusal)
	}
}
