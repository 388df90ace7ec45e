package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"aanet/api/client"
	"aanet/billing"
	"aanet/store"
)

// demoBooks is what the service itself says about the work.
type demoBooks struct {
	results     []string // lines
	done        int      // as the progress file counts
	locks       int      // that are still held
	spent       map[string]int64
	total       int64
	reportUnits int64 // the price of a message
	checked     int   // workspaces whose ledger was checked
	differences []store.Difference
}

func (s *swarm) readBooks(ctx context.Context) (demoBooks, error) {
	b := demoBooks{spent: map[string]int64{}}
	if err := s.readOutcome(ctx, &b); err != nil {
		return b, err
	}
	keys, err := s.owner.ListSubkeys(ctx)
	if err != nil {
		return b, err
	}
	for _, k := range keys {
		b.spent[k.Label] = k.SpentSoFar
	}
	workspace, err := s.owner.GetWorkspace(ctx)
	if err != nil {
		return b, err
	}
	b.total = workspace.TotalSpent
	pricing, err := s.owner.GetPricing(ctx)
	if err != nil {
		return b, err
	}
	if i := slices.IndexFunc(pricing.Operations, func(p client.PriceOut) bool { return p.Operation == "send_message" }); i >= 0 {
		b.reportUnits = pricing.Operations[i].Units
	}
	b.checked, err = s.stage.store.VerifyLedger(ctx, func(d store.Difference) { b.differences = append(b.differences, d) })
	return b, err
}

// readOutcome reads what the swarm left behind.
func (s *swarm) readOutcome(ctx context.Context, b *demoBooks) error {
	file, err := s.orchestrator.readFile(ctx, resultsPath, 0)
	if err != nil {
		return err
	}
	b.results = slices.Collect(strings.Lines(*file.Content))
	if file, err = s.orchestrator.readFile(ctx, progressPath, 0); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(*file.Content, `{"done":%d`, &b.done); err != nil {
		return fmt.Errorf("progress file: %w", err)
	}
	held, err := s.owner.ListLocks(ctx, client.ListLocksIn{})
	b.locks = len(held)
	return err
}

// printReports prints who did what.
func (s *swarm) printReports(reports []swarmReport, b demoBooks, took time.Duration) {
	slices.SortFunc(reports, func(x, y swarmReport) int {
		return cmp.Or(len(x.Agent)-len(y.Agent), strings.Compare(x.Agent, y.Agent))
	})
	fmt.Fprintln(s.stage.out)
	table := tabwriter.NewWriter(s.stage.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "agent\tdoor\ttasks\tcalls\tunits\ttaken\tdone\tconflicts\t")
	var sum swarmReport
	for _, r := range reports {
		r.Calls++ // the report itself
		printRow(table, r, b.spent[r.Agent])
		sum.Tasks, sum.Calls, sum.Held, sum.Late, sum.Conflicts = sum.Tasks+r.Tasks, sum.Calls+r.Calls, sum.Held+r.Held, sum.Late+r.Late, sum.Conflicts+r.Conflicts
	}
	o := s.orchestrator.meter
	printRow(table, swarmReport{Agent: "orchestrator", Door: "REST", Calls: o.calls}, b.spent["orchestrator"])
	sum.Agent, sum.Calls = "all", sum.Calls+o.calls
	printRow(table, sum, b.total)
	_ = table.Flush() // fails only where the lines around it do
	fmt.Fprintln(s.stage.out, "taken: another had the lock; done: it was done before; conflicts: old etags")
	fmt.Fprintf(s.stage.out, "\n%d calls in %.1f s cost %d units = $%s\n\n", sum.Calls, took.Seconds(), b.total, billing.Units(b.total).USD())
}

func printRow(table *tabwriter.Writer, r swarmReport, units int64) {
	fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.Agent, r.Door, r.Tasks, r.Calls, units, r.Held, r.Late, r.Conflicts)
}

// demoCheck is something that must hold at the end.
type demoCheck struct {
	claim string
	fault string // "" when it holds
}

func (s *swarm) checks(reports []swarmReport, b demoBooks) []demoCheck {
	reported, ownSpent := 0, int64(1) // the owner's one priced call: the list of locks
	counts := ""
	for _, r := range reports {
		reported += r.Tasks
		ownSpent += r.Units + b.reportUnits
		if b.spent[r.Agent] != r.Units+b.reportUnits {
			counts += fmt.Sprintf("%s counted %d, charged %d; ", r.Agent, r.Units+b.reportUnits, b.spent[r.Agent])
		}
	}
	ownSpent += s.orchestrator.meter.units
	return []demoCheck{
		{fmt.Sprintf("%d result lines, all distinct: no task was left out or done twice", s.size.tasks), s.faultOfResults(b.results)},
		{"the agents' reports add up to the tasks", unequal(reported, s.size.tasks)},
		{"the progress file counts every task: no update was lost", unequal(b.done, s.size.tasks)},
		{"no lock is left held", unequal(b.locks, 0)},
		{"each agent was charged exactly what it counted", counts},
		{"the workspace was charged exactly what all counted", unequal(int(b.total), int(ownSpent))},
		{fmt.Sprintf("the ledger adds up (%d workspace checked)", b.checked), unequal(len(b.differences), 0)},
	}
}

func unequal(got, want int) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("%d instead of %d", got, want)
}

// faultOfResults compares the result lines with the tasks that were given out.
func (s *swarm) faultOfResults(lines []string) string {
	times := map[string]int{}
	for _, line := range lines {
		task, _, _ := strings.Cut(line, " ")
		times[task]++
	}
	for i := range s.size.tasks {
		task := fmt.Sprintf("task-%04d", i+1)
		if times[task] != 1 {
			return fmt.Sprintf("%s was done %d times", task, times[task])
		}
	}
	return unequal(len(lines), s.size.tasks)
}

// printChecks prints every check and fails when one does.
func (s *swarm) printChecks(checks []demoCheck) error {
	failed := 0
	for _, c := range checks {
		mark := "ok     "
		if c.fault != "" {
			failed++
			mark = "FAILED "
			c.claim += ": " + c.fault
		}
		fmt.Fprintln(s.stage.out, mark+c.claim)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
