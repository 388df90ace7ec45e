package api_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"aanet/api/apitest"
)

// fileCall is one call on the one file of a history; fileAnswer what it came to.
type fileCall struct{ tool, content, ifMatch string }

type fileAnswer struct{ code, content, etag string }

// fileModel is a file as a register with compare-and-set: its etag is "" while it does not exist.
var fileModel = porcupine.Model{
	Init: func() any { return fileAnswer{} },
	Step: func(state, input, output any) (bool, any) {
		now, call, answer := state.(fileAnswer), input.(fileCall), output.(fileAnswer)
		stale := call.ifMatch != "" && call.ifMatch != now.etag
		missing := now.etag == "" && (call.tool == "read_file" || call.tool == "delete_file")
		switch {
		case missing:
			return answer.code == "NOT_FOUND", now
		case stale:
			return answer.code == "CONFLICT" && answer.etag == now.etag, now
		case answer.code != "":
			return false, now
		}
		switch call.tool {
		case "read_file":
			return answer.content == now.content && answer.etag == now.etag, now
		case "delete_file":
			return true, fileAnswer{}
		case "append_file":
			return true, fileAnswer{content: now.content + call.content, etag: answer.etag}
		default:
			return true, fileAnswer{content: call.content, etag: answer.etag}
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// TestFileIsLinearizable looks for one order of all calls, made by clients of two replicas, that explains
// every answer and agrees with the order in which they were made.
func TestFileIsLinearizable(t *testing.T) {
	on := race(t, 1_000_000)
	defer on[0].CheckLedger(t)
	began := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	apitest.Together(8, func(client int) {
		random := rand.New(rand.NewPCG(uint64(client), 5))
		seen := ""
		for i := range 40 {
			call := fileCall{tool: []string{"read_file", "write_file", "append_file", "write_file", "delete_file"}[random.IntN(5)]}
			in := args{"path": "f"}
			if call.tool == "write_file" || call.tool == "append_file" {
				call.content = fmt.Sprintf("<%d.%d>", client, i)
				in["content"] = call.content
			}
			if call.tool != "read_file" && seen != "" && random.IntN(3) > 0 {
				call.ifMatch = seen
				in["if_match"] = seen
			}
			start := time.Since(began)
			r := on[client%2].Owner.Call(t, call.tool, in)
			end := time.Since(began)
			answer := fileAnswer{r.Code, r.Text("content"), r.Text("etag")}
			if r.Code == "CONFLICT" {
				answer.etag = r.Text("current_etag")
			}
			seen = answer.etag
			mu.Lock()
			history = append(history, porcupine.Operation{ClientId: client, Input: call, Call: int64(start), Output: answer, Return: int64(end)})
			mu.Unlock()
		}
	})
	if result := porcupine.CheckOperationsTimeout(fileModel, history, 2*time.Minute); result != porcupine.Ok {
		t.Errorf("the history of %d calls: %s", len(history), result)
	}
}
