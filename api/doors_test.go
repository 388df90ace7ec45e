package api_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"aanet/api"
	"aanet/api/apitest"
)

// doors are the ways into the service: every story is played through each.
var doors = []struct {
	name string
	make apitest.DoorMaker
}{
	{"direct", apitest.Direct},
	{"rest", REST},
	{"mcp", MCP},
}

// bothDoors gives REST to the first replica of a world, MCP to the second, and so on by turns.
func bothDoors() apitest.DoorMaker {
	var made atomic.Int32
	return func(t testing.TB, s *api.Service) apitest.Door {
		return doors[1+(made.Add(1)-1)%2].make(t, s)
	}
}

// scene is one story, played in a workspace of its own with a million units.
type scene struct {
	name string
	play func(t *testing.T, ws *apitest.Workspace)
}

// storeOnly are long scenes about what is stored, to which another door adds nothing but time.
var storeOnly = map[string]bool{
	"ten thousand": true, "many appends read as one text": true, "any names, any page": true, "a big directory": true,
}

// play plays the scenes side by side, through each door. Each ends with a true ledger.
func play(t *testing.T, o apitest.Options, scenes ...scene) {
	t.Helper()
	t.Parallel()
	for _, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			o := o
			o.Door = door.make
			world := apitest.New(t, o)
			for _, s := range scenes {
				if storeOnly[s.name] && door.name != "direct" {
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					ws := world.Workspace(t, 1_000_000)
					s.play(t, ws)
					ws.CheckLedger(t)
				})
			}
		})
	}
}

// same fails unless got is what the story wants.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// shownRow is a row of the log in short: operation, path and cost.
func shownRow(row apitest.Row) string {
	path := "<nil>"
	if row.Path != nil {
		path = *row.Path
	}
	return fmt.Sprintf("%s %s %d", row.Operation, path, row.Cost)
}
