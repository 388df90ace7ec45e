package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	idleWaiters  = 10_000
	wokenWaiters = 1000 // in each of two processes
	keysWaiting  = 100  // of one workspace
)

// waiting is section i: what a call costs that waits, and how soon it is woken.
func (b *bench) waiting(ctx context.Context) error {
	targets, err := makeTargets(ctx, b.pool, b.rows(idleWaiters)/keysWaiting, keysWaiting)
	if err != nil {
		return err
	}
	if err := b.idleWaiters(ctx, targets); err != nil {
		return err
	}
	return b.wakeUps(ctx)
}

// idleWaiters holds calls that nothing wakes, in a process that collects its garbage often: its memory is what they hold.
func (b *bench) idleWaiters(ctx context.Context, targets []target) (err error) {
	s, err := b.startService(ctx, "GOGC=10")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	warm, err := openWaiters(ctx, s.url, targets[:keysWaiting])
	if err != nil {
		return err
	}
	warm.close()
	time.Sleep(time.Second)
	before := residentMiB(s.pid())
	all, err := openWaiters(ctx, s.url, targets)
	if err != nil {
		return err
	}
	defer all.close()
	if err := all.settle(ctx, 5*time.Second); err != nil {
		return err
	}
	d := b.seconds(60)
	service, postgres := s.cpu(), b.cpu.postgres()
	if err := all.settle(ctx, d); err != nil {
		return err
	}
	share := func(cpu time.Duration) float64 { return 100 * cpu.Seconds() / d.Seconds() }
	held := (residentMiB(s.pid()) - before) * 1024 / float64(len(targets))
	return b.report.add(benchResult{Name: "waiters_idle", RestMiB: *rounded(before, 1), LoadMiB: *rounded(residentMiB(s.pid()), 1),
		Note: fmt.Sprintf("%d calls waited for %s, asking again when their 50 s were over: %.1f KiB each, their connection included; %.1f %% of a CPU for the service, %.1f %% for Postgres",
			len(targets), d, held, share(s.cpu()-service), share(b.cpu.postgres()-postgres))})
}

// wakeUps wakes the calls that wait in two processes one by one, under half of the load that the first can bear, then all
// of a workspace at once.
func (b *bench) wakeUps(ctx context.Context) (err error) {
	first, err := b.startService(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, first.stop()) }()
	second, err := b.startService(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.stop()) }()
	load, rate, err := b.halfLoad(ctx, first)
	if err != nil {
		return err
	}
	near, far, err := b.wakeEach(ctx, first, second)
	if err != nil {
		return err
	}
	if _, err := load.finish(); err != nil {
		return err
	}
	all, err := b.wakeAll(ctx, first)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("from the message's ts to the answer, %d waiters in each of two processes, beside %.0f writes/s", wokenWaiters, rate)
	return b.report.add(
		resultOf("wake_same", near).within(20, "in the process that commits; "+how),
		resultOf("wake_other", far).within(60, "in the other process"),
		resultOf("wake_all", all).noted(fmt.Sprintf("one message to all of %d waiters, in an idle process", wokenWaiters)),
	)
}

// halfLoad measures how many files a second a service writes, and begins to write half as many.
func (b *bench) halfLoad(ctx context.Context, s *servedProcess) (*clientProcess, float64, error) {
	targets, err := makeTargets(ctx, b.pool, manyWorkspaces, 1)
	if err != nil {
		return nil, 0, err
	}
	full, err := b.startClient(ctx, "rest", s.url, clientLoad{duration: b.seconds(5), clients: benchClients}, targets)
	if err != nil {
		return nil, 0, err
	}
	most, err := full.finish()
	if err != nil {
		return nil, 0, err
	}
	rate := most.OpsPerS / 2
	load, err := b.startClient(ctx, "rest", s.url, clientLoad{duration: b.wakingFor() + 20*time.Second, clients: benchClients, rate: rate}, targets)
	return load, rate, err
}

func (b *bench) wakingFor() time.Duration { return b.seconds(20) }

// wakeEach sends messages through the first service, each to one of those who wait in either.
func (b *bench) wakeEach(ctx context.Context, first, second *servedProcess) (near, far figure, err error) {
	targets, err := makeTargets(ctx, b.pool, 2*wokenWaiters/keysWaiting, keysWaiting)
	if err != nil {
		return near, far, err
	}
	sides := [2]*waiters{}
	for i, url := range []string{first.url, second.url} {
		if sides[i], err = openWaiters(ctx, url, targets[i*wokenWaiters:(i+1)*wokenWaiters]); err != nil {
			return near, far, err
		}
		defer sides[i].close()
		if err := sides[i].settle(ctx, time.Second); err != nil {
			return near, far, err
		}
	}
	sender, err := newSender(first.url)
	if err != nil {
		return near, far, err
	}
	defer sender.conn.Close()
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	started := time.Now()
	for i := 0; time.Since(started) < b.wakingFor(); i++ {
		select {
		case <-pace.C:
		case <-ctx.Done():
			return near, far, context.Cause(ctx)
		}
		to := sides[i%2].targets[rand.IntN(wokenWaiters)]
		if err := sender.send(to, to.subkey.String()); err != nil {
			return near, far, err
		}
	}
	took := time.Since(started)
	for _, w := range sides {
		if err := w.settle(ctx, time.Second); err != nil {
			return near, far, err
		}
	}
	return figureOf(sides[0].woken(), took), figureOf(sides[1].woken(), took), nil
}

// wakeAll sends one message to everybody in a workspace; the figure is of those who were woken.
func (b *bench) wakeAll(ctx context.Context, s *servedProcess) (figure, error) {
	targets, err := makeTargets(ctx, b.pool, 1, wokenWaiters)
	if err != nil {
		return figure{}, err
	}
	w, err := openWaiters(ctx, s.url, targets)
	if err != nil {
		return figure{}, err
	}
	defer w.close()
	if err := w.settle(ctx, time.Second); err != nil {
		return figure{}, err
	}
	sender, err := newSender(s.url)
	if err != nil {
		return figure{}, err
	}
	defer sender.conn.Close()
	started := time.Now()
	if err := sender.send(targets[0], ""); err != nil {
		return figure{}, err
	}
	if err := w.settle(ctx, 2*time.Second); err != nil {
		return figure{}, err
	}
	latencies := w.woken()
	if len(latencies) != wokenWaiters {
		return figure{}, fmt.Errorf("%d of %d were woken", len(latencies), wokenWaiters)
	}
	return figureOf(latencies, time.Since(started)), nil
}
