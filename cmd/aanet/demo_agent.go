package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"aanet/api/client"
)

// Where the swarm of the demo keeps its things: all below one scope.
const (
	swarmScope   = "work"
	taskFolder   = "work/tasks"
	resultsPath  = "work/results.log"
	progressPath = "work/progress.json"
	topicStart   = "start"
	topicReport  = "report"
)

const (
	leaseSeconds = 30                    // much longer than a task takes, short enough for others if the agent dies
	taskTime     = 15 * time.Millisecond // what stands for the work itself
	taskTimeLive = 10 * taskTime         // when somebody watches
	shortPause   = 20 * time.Millisecond // before looking again
)

// swarmReport is what an agent tells the orchestrator when nothing is left to do.
type swarmReport struct {
	Agent     string `json:"agent"`
	Door      string `json:"door"`
	Tasks     int    `json:"tasks"`
	Held      int    `json:"held"`      // locks that another agent had
	Late      int    `json:"late"`      // locks got after the task was done
	Conflicts int    `json:"conflicts"` // guarded writes that came second
	Calls     int64  `json:"calls"`     // before this report
	Units     int64  `json:"units"`     // before this report
}

// progress is the content of the progress file, which all agents update.
type progress struct {
	Done int    `json:"done"`
	Last string `json:"last"`
}

// swarmAgent is one worker.
type swarmAgent struct {
	door
	meter  *meter
	report swarmReport
	work   time.Duration // what a task takes
	place  float64       // where in the list of tasks it begins, 0 to 1

	done    map[string]bool // tasks that it knows to be done
	logRead int64           // bytes of the results it has read
}

// run waits for the start, works until nothing is left, and reports to whoever gave the start.
func (a *swarmAgent) run(ctx context.Context) error {
	start, err := a.awaitStart(ctx)
	if err != nil {
		return err
	}
	tasks, err := a.readTasks(ctx)
	if err != nil {
		return err
	}
	if err := a.workThrough(ctx, tasks); err != nil {
		return err
	}
	a.report.Calls, a.report.Units = a.meter.calls, a.meter.units
	body, err := json.Marshal(a.report)
	if err != nil {
		return err
	}
	// The sender of a message is proved by its key, so a reply reaches the right one.
	return a.sendMessage(ctx, start.FromSubkeyID, topicReport, string(body))
}

func (a *swarmAgent) awaitStart(ctx context.Context) (client.MessageOut, error) {
	for {
		messages, err := a.getMessages(ctx, topicStart, nil)
		if err != nil {
			return client.MessageOut{}, err
		}
		if len(messages) > 0 {
			return messages[0], nil
		}
		if err := pause(ctx, shortPause); err != nil {
			return client.MessageOut{}, err
		}
	}
}

// readTasks gathers the tasks of all lists, beginning at the agent's own place.
func (a *swarmAgent) readTasks(ctx context.Context) ([]string, error) {
	folder, err := a.readFile(ctx, taskFolder, 0)
	if err != nil {
		return nil, err
	}
	var tasks []string
	for _, entry := range folder.Entries {
		list, err := a.readFile(ctx, taskFolder+"/"+entry, 0)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, strings.Fields(*list.Content)...)
	}
	first := int(a.place * float64(len(tasks)))
	return append(tasks[first:], tasks[:first]...), nil
}

// workThrough goes over the tasks until all are done, by whomever.
func (a *swarmAgent) workThrough(ctx context.Context, tasks []string) error {
	for {
		left, before := 0, a.report.Tasks
		for _, task := range tasks {
			if a.done[task] {
				continue
			}
			left++
			if err := a.try(ctx, task); err != nil {
				return fmt.Errorf("%s: %w", task, err)
			}
		}
		if left == 0 {
			return nil
		}
		if a.report.Tasks == before { // the others are at the last ones
			if err := pause(ctx, shortPause); err != nil {
				return err
			}
			if err := a.readResults(ctx); err != nil {
				return err
			}
		}
	}
}

// try claims a task, and does it unless another agent has it or had it.
func (a *swarmAgent) try(ctx context.Context, task string) error {
	lock := swarmScope + "/" + task
	err := a.acquireLock(ctx, lock, leaseSeconds)
	if client.IsCode(err, client.CodeLockHeld) {
		a.report.Held++ // a refusal is free
		return nil
	}
	if err != nil {
		return err
	}
	// Only now: what was read before the lock was held may be out of date.
	if err := a.readResults(ctx); err != nil {
		return err
	}
	if a.done[task] {
		a.report.Late++
	} else if err := a.do(ctx, task); err != nil {
		return err
	}
	return a.releaseLock(ctx, lock)
}

// do is the work: a result is made, written down and counted.
func (a *swarmAgent) do(ctx context.Context, task string) error {
	if err := pause(ctx, a.work); err != nil {
		return err
	}
	if err := a.appendFile(ctx, resultsPath, task+" done by "+a.report.Agent+"\n"); err != nil {
		return err
	}
	a.done[task] = true
	a.report.Tasks++
	return a.countUp(ctx, task)
}

// readResults reads what was added to the results since the last time. An append arrives in one piece, so there are only
// whole lines.
func (a *swarmAgent) readResults(ctx context.Context) error {
	file, err := a.readFile(ctx, resultsPath, a.logRead)
	if err != nil {
		return err
	}
	a.logRead += int64(len(*file.Content))
	for line := range strings.Lines(*file.Content) {
		task, _, _ := strings.Cut(line, " ")
		a.done[task] = true
	}
	return nil
}

// countUp adds one to the progress file. The etag makes sure that nobody's count is lost: who comes second reads again.
func (a *swarmAgent) countUp(ctx context.Context, task string) error {
	for {
		file, err := a.readFile(ctx, progressPath, 0)
		if err != nil {
			return err
		}
		var p progress
		if err := json.Unmarshal([]byte(*file.Content), &p); err != nil {
			return err
		}
		p.Done, p.Last = p.Done+1, task
		content, err := json.Marshal(p)
		if err != nil {
			return err
		}
		err = a.writeFile(ctx, progressPath, string(content), file.Etag)
		if !client.IsCode(err, client.CodeConflict) {
			return err
		}
		a.report.Conflicts++
		// Different agents wait differently long, so that they do not meet again at once.
		if err := pause(ctx, rand.N(shortPause)); err != nil {
			return err
		}
	}
}

// pause waits, or ends with ctx and its cause.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
