package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// figure is what one way of doing it reached in one measurement.
type figure struct {
	calls    int     // made; 0 in a median
	ops      float64 // calls a second
	p50, p99 float64 // milliseconds
	cpu      cpuShares
}

// way is one of several ways to do the same, measured by turns.
type way struct {
	name    string
	measure func(ctx context.Context, d time.Duration) (figure, error)
}

func (w way) called(name string) way {
	w.name = name
	return w
}

// measured holds the figures of each way, one a round.
type measured [][]figure

// byTurns measures every way benchRounds times for d each, in changing order, after a short run of each
// that does not count.
func (b *bench) byTurns(ctx context.Context, d time.Duration, ways ...way) (measured, error) {
	for _, w := range ways {
		if _, err := w.measure(ctx, d/4); err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return b.byTurnsCold(ctx, d, ways...)
}

// byTurnsCold is byTurns without the runs that do not count.
func (b *bench) byTurnsCold(ctx context.Context, d time.Duration, ways ...way) (measured, error) {
	all := make(measured, len(ways))
	for round := range benchRounds {
		for turn := range ways {
			i := (turn + round) % len(ways)
			f, err := ways[i].measure(ctx, d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", ways[i].name, err)
			}
			b.progress("   round %d of %d  %-22s %8.0f /s  p50 %.2f ms  p99 %.2f ms", round+1, benchRounds, ways[i].name, f.ops, f.p50, f.p99)
			all[i] = append(all[i], f)
		}
	}
	return all, nil
}

// of is the median figure of a way.
func (m measured) of(way int) figure { return medianFigure(m[way]) }

// ratio is the median over the rounds of one way's part to another's. Taken within a round, it does not
// suffer when the machine becomes slower between two rounds.
func (m measured) ratio(part func(figure) float64, way, to int) float64 {
	ratios := make([]float64, len(m[way]))
	for round := range ratios {
		ratios[round] = part(m[way][round]) / part(m[to][round])
	}
	return median(ratios)
}

func opsOf(f figure) float64 { return f.ops }
func p50Of(f figure) float64 { return f.p50 }
func p99Of(f figure) float64 { return f.p99 }

func medianFigure(figures []figure) figure {
	of := func(part func(figure) float64) float64 {
		values := make([]float64, len(figures))
		for i, f := range figures {
			values[i] = part(f)
		}
		return median(values)
	}
	return figure{
		ops: of(opsOf), p50: of(p50Of), p99: of(p99Of),
		cpu: cpuShares{
			Service:  of(func(f figure) float64 { return f.cpu.Service }),
			Postgres: of(func(f figure) float64 { return f.cpu.Postgres }),
			Client:   of(func(f figure) float64 { return f.cpu.Client }),
		},
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// percentile is the value that a share of the sorted latencies does not exceed, in milliseconds.
func percentile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(share*float64(len(sorted))), len(sorted)-1)
	return float64(sorted[i]) / float64(time.Millisecond)
}

// figureOf sums up latencies that were taken in the time given.
func figureOf(latencies []time.Duration, took time.Duration) figure {
	slices.Sort(latencies)
	return figure{
		calls: len(latencies),
		ops:   float64(len(latencies)) / took.Seconds(),
		p50:   percentile(latencies, 0.50),
		p99:   percentile(latencies, 0.99),
	}
}

// drive lets clients call without pause for d, and each at least once: client c makes its calls number 0, 1, 2 …
// The first failure ends the run.
func drive(ctx context.Context, clients int, d time.Duration, call func(ctx context.Context, client, number int) error) (figure, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var all []time.Duration
	var running sync.WaitGroup
	started := time.Now()
	for client := range clients {
		running.Go(func() {
			var own []time.Duration
			for number := 0; ; number++ {
				before := time.Now()
				if number > 0 && before.Sub(started) >= d || ctx.Err() != nil {
					break
				}
				if err := call(ctx, client, number); err != nil {
					cancel(err)
					return
				}
				own = append(own, time.Since(before))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, own...)
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return figure{}, err
	}
	if len(all) == 0 {
		return figure{}, fmt.Errorf("no call ended within %s", d)
	}
	return figureOf(all, time.Since(started)), nil
}

// alternate lets one client make two calls by turns while more says so, which compares them closely.
func alternate(more func(i int) bool, one, other func(i int) error) (ofOne, ofOther figure, err error) {
	var latencies [2][]time.Duration
	var took [2]time.Duration
	for i := 0; more(i); i++ {
		for turn, call := range []func(int) error{one, other} {
			before := time.Now()
			if err := call(i); err != nil {
				return ofOne, ofOther, err
			}
			latency := time.Since(before)
			latencies[turn] = append(latencies[turn], latency)
			took[turn] += latency
		}
	}
	return figureOf(latencies[0], took[0]), figureOf(latencies[1], took[1]), nil
}
