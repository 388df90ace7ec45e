package rest_test

import (
	"fmt"
	"strings"
	"testing"

	"aanet/api/web/browsertest"
)

// A workspace with more than fits on the page is shown in parts, each when it is asked for.
func TestOwnersWindowPages(t *testing.T) {
	s := start(t, nil)
	agent := s.call("POST", s.at("/subkeys"), `{"label":"busy"}`).is(201).text("key")
	as := "Authorization: Bearer " + agent
	for i := range 25 {
		s.call("POST", s.at("/messages"), fmt.Sprintf(`{"body":"message number %03d"}`, i), as).is(201)
	}
	for i := range 130 {
		s.call("PUT", s.at(fmt.Sprintf("/files/many/%03d", i)), `{"content":""}`, as).is(201)
	}
	s.call("PUT", s.at("/files/long"), fmt.Sprintf(`{"content":"%sthe end"}`, strings.Repeat("é", 40_000)), as).is(201)

	tab := browsertest.Open(t, browsertest.Desktop, browsertest.Light)
	tab.Expect("status of 503")
	tab.Go(s.url + "/w")
	tab.Fill("#key", s.owner)
	tab.Click("button", "Watch")

	tab.See("#messages", "message number 024")
	tab.Gone("#messages", "message number 000")
	tab.Click("#more-messages", "")
	tab.See("#messages", "message number 000")
	if n := tab.Count("#messages li"); n != 25 {
		t.Errorf("%d messages", n)
	}

	tab.See("#activity", "long")
	tab.Gone("#activity", "mint subkey")
	tab.Click("#more-activity", "")
	tab.See("#activity", "mint subkey")

	tab.Click("#entries button", "many/")
	tab.See("#entries", "099")
	tab.Gone("#entries", "100")
	tab.Click("#more-file", "")
	tab.See("#entries", "129")
	if n := tab.Count("#entries li"); n != 130 {
		t.Errorf("%d files", n)
	}
	tab.Gone("#more-file", "")
	tab.Click("#up", "")
	tab.Click("#entries button", "long")
	tab.Until("the first part", `document.getElementById("content").textContent === "é".repeat(32768)`)
	tab.Click("#more-file", "")
	tab.Until("the whole", `document.getElementById("content").textContent === "é".repeat(40000) + "the end"`)
	tab.Gone("#more-file", "")
}
