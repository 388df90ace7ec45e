package rest_test

import (
	"testing"

	"aanet/api"
)

// An idempotency key is a header over REST and nothing else.
func TestIdempotencyKeyIsAHeader(t *testing.T) {
	s := start(t, nil)
	first := s.call("POST", s.at("/files/log"), `{"content":"x"}`, "Idempotency-Key: k").is(201)
	again := s.call("POST", s.at("/files/log"), `{"content":"x"}`, "Idempotency-Key: k").is(201)
	if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" ||
		again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("X-AANet-Cost") != "0" || again.body != first.body {
		t.Errorf("first %v %s, then %v %s", first.header, first.body, again.header, again.body)
	}
	for _, r := range []struct{ method, address, body string }{
		{"POST", "/files/log", `{"content":"x","idempotency_key":"k"}`},
		{"POST", "/files/log?idempotency_key=k", `{"content":"x"}`},
		{"DELETE", "/files/log?idempotency_key=k", ""},
		{"DELETE", "/files/log", `{"idempotency_key":"k"}`},
	} {
		if fields := s.call(r.method, s.at(r.address), r.body).faults(); fields != "idempotency_key" {
			t.Errorf("%s %s %s: faults of %q", r.method, r.address, r.body, fields)
		}
	}
	s.call("POST", s.at("/files/log"), `{"content":"x"}`, "Idempotency-Key: caf\xc3\xa9").refused(api.InvalidArgument)
	s.call("POST", s.at("/files/log"), `{"content":"x"}`, "Idempotency-Key: a", "Idempotency-Key: b").refused(api.InvalidArgument)
	s.call("GET", s.at("/files/log"), "", "Idempotency-Key: k").is(200)
	if read := s.call("GET", s.at("/files/log"), "", "Idempotency-Key: k").is(200); read.json["content"] != "x" || read.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("a read: %v %s", read.header, read.body)
	}
	s.call("POST", "/v1/workspaces", `{"label":"l"}`, "Idempotency-Key: k").is(201)
}

// A fence on DELETE comes in the query or in a body.
func TestFenceOnDelete(t *testing.T) {
	s := start(t, nil)
	s.call("PUT", s.at("/locks/l"), `{"lease_seconds":60}`).is(200)
	for _, r := range []struct{ query, body string }{{"?lock_name=l&fencing_token=1", ""}, {"", `{"lock_name":"l","fencing_token":1}`}} {
		s.call("PUT", s.at("/files/f"), `{"content":"x"}`).is(201)
		s.call("DELETE", s.at("/files/f?lock_name=l&fencing_token=2"), "").refused(api.StaleFence)
		s.call("DELETE", s.at("/files/f?lock_name=l"), "").refused(api.InvalidArgument)
		s.call("DELETE", s.at("/files/f"+r.query), r.body).is(200)
	}
}
