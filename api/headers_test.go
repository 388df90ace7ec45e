package api_test

import (
	"net/http"
	"testing"

	"aanet/api"
)

func TestDeclaredJSON(t *testing.T) {
	for declared, want := range map[bool][]http.Header{
		true: {
			{"Content-Type": {"application/json"}}, {"Content-Type": {`APPLICATION/JSON; charset="UTF-8"`}}, {"Content-Type": {"application/json; a=b"}},
			{"Content-Type": {"application/json"}, "Content-Encoding": {"Identity"}},
		},
		false: {
			{}, {"Content-Type": {""}}, {"Content-Type": {"text/json"}}, {"Content-Type": {"application/problem+json"}}, {"Content-Type": {"application/json, text/plain"}},
			{"Content-Type": {"application/json; charset=utf-16"}}, {"Content-Type": {"application/json; charset="}}, {"Content-Type": {"application/json", "application/json"}},
			{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, {"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "gzip"}},
			{"Content-Type": {"application/json"}, "Content-Encoding": {""}},
		},
	} {
		for _, h := range want {
			if api.DeclaredJSON(h) != declared {
				t.Errorf("%v: %v", h, !declared)
			}
		}
	}
}
