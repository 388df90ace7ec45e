package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"aanet/api/client"
)

const (
	liveAgents = 16 // rows that a small terminal has room for
	barWidth   = 30
)

// showProgress reads how far the swarm is, as anybody in it could, and writes a line of it; on a terminal a table too, of
// who holds what and has spent how much, in the place of the last one.
func (s *swarm) showProgress(ctx context.Context, reports int) error {
	file, err := s.orchestrator.readFile(ctx, progressPath, 0)
	if err != nil {
		return err
	}
	var p progress
	if err := json.Unmarshal([]byte(*file.Content), &p); err != nil {
		return err
	}
	at := time.Since(s.begin).Seconds()
	if !s.stage.live {
		fmt.Fprintf(s.stage.out, "%5.1f s  %3d of %d tasks done, last %s, %d of %d reports\n", at, p.Done, s.size.tasks, p.Last, reports, len(s.agents))
		return nil
	}
	held, err := s.orchestrator.listLocks(ctx)
	if err != nil {
		return err
	}
	keys, err := s.owner.ListSubkeys(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1f s  [%s]  %d of %d tasks, %d of %d agents done\n\n", at, bar(p.Done, s.size.tasks), p.Done, s.size.tasks, reports, len(s.agents))
	drawSwarm(&b, keys, held)
	// Up over the last table, and clear from there to the end of the screen.
	if s.drawn > 0 {
		fmt.Fprintf(s.stage.out, "\x1b[%dA\x1b[J", s.drawn)
	}
	s.drawn = strings.Count(b.String(), "\n")
	_, err = io.WriteString(s.stage.out, b.String())
	return err
}

// bar is a part of a whole, drawn.
func bar(part, whole int) string {
	full := barWidth * part / max(whole, 1)
	return strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full)
}

// drawSwarm has a row for each key that was minted for an agent.
func drawSwarm(w io.Writer, keys []client.SubkeyOut, held []client.HeldLockOut) {
	holds := map[string][]string{}
	for _, lock := range held {
		if lock.HolderSubkeyID != nil {
			holds[*lock.HolderSubkeyID] = append(holds[*lock.HolderSubkeyID], strings.TrimPrefix(lock.Name, swarmScope+"/"))
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "who\tunits\tholds")
	shown := 0
	for _, k := range keys {
		if shown == liveAgents {
			break
		}
		shown++
		fmt.Fprintf(table, "%s\t%5d\t%s\n", k.Label, k.SpentSoFar, strings.Join(holds[k.SubkeyID], ", "))
	}
	_ = table.Flush() // fails only where the lines around it do
	if more := len(keys) - shown; more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
}

// printNext prints what the same would cost without the service, and where to go from here.
func (s *swarm) printNext(ctx context.Context) error {
	rounds := (s.size.tasks + s.size.agents - 1) / s.size.agents
	e, err := s.owner.EstimateSavings(ctx, client.EstimateSavingsIn{Agents: int64(s.size.agents), RoundsPerAgent: int64(rounds)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stage.out, `
%d rounds passed through a model instead: %d tokens, $%s to $%s.

Next: make run starts a service that stays, and prints a first session to paste.
Its page /w shows a swarm like this one in the browser.
The command line does the rest: aanet help.
`, e.Rounds, e.RelayTokens, e.RelayUSDLow, e.RelayUSDHigh)
	return err
}
