package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// doors is section c: the service as a process of its own, its client as another.
func (b *bench) doors(ctx context.Context) (err error) {
	targets, err := makeTargets(ctx, b.pool, manyWorkspaces, 1)
	if err != nil {
		return err
	}
	s, err := b.startService(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	time.Sleep(time.Second) // let it come to rest
	rest := residentMiB(s.pid())
	watching := s.watchMemory()
	f, err := b.byTurns(ctx, b.seconds(5), b.lanesWay(b.store, targets), b.doorWay(s, "rest", targets), b.doorWay(s, "mcp", targets))
	load := watching()
	if err != nil {
		return err
	}
	return b.report.add(
		resultOf("doors_lanes", f.of(0)).noted("the lanes alone, from within the benchmark"),
		resultOf("rest", f.of(1)).against(f.ratio(opsOf, 1, 0), atLeast, 0.5, "to the lanes alone"),
		resultOf("mcp", f.of(2)).compared(f.ratio(opsOf, 2, 0), "to the lanes alone"),
		benchResult{Name: "service_memory", RestMiB: *rounded(rest, 1), LoadMiB: *rounded(load, 1),
			Note: fmt.Sprintf("resident: %.0f MiB at rest, at most %.0f MiB under load", rest, load)},
	)
}

// doorWay lets a client process write through a door.
func (b *bench) doorWay(s *servedProcess, door string, targets []target) way {
	return way{door, func(ctx context.Context, d time.Duration) (figure, error) {
		c, err := b.startClient(ctx, door, s.url, clientLoad{duration: d, clients: benchClients}, targets)
		if err != nil {
			return figure{}, err
		}
		service, postgres := s.cpu(), b.cpu.postgres()
		answer, err := c.finish()
		if err != nil {
			return figure{}, err
		}
		f := figure{calls: answer.Calls, ops: answer.OpsPerS, p50: answer.P50, p99: answer.P99}
		if b.cpu.postmaster != 0 {
			calls := float64(answer.Calls)
			f.cpu = cpuShares{
				Service: micros(s.cpu()-service) / calls, Postgres: micros(b.cpu.postgres()-postgres) / calls, Client: answer.CPU / calls,
			}
		}
		return f, nil
	}}
}

// servedProcess is a running aanet serve.
type servedProcess struct {
	cmd *exec.Cmd
	url string
	log string // the file that it logs to
}

// startService starts the service with its defaults, on free ports and without rate limits. What env has comes last.
func (b *bench) startService(ctx context.Context, env ...string) (*servedProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	log, err := os.CreateTemp(b.dir, "service-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &servedProcess{log: log.Name()}
	s.cmd = exec.CommandContext(ctx, program, "serve")
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + b.url, "AANET_SECRET_KEY=" + base64.StdEncoding.EncodeToString(secret),
		"AANET_LISTEN=127.0.0.1:0", "AANET_METRICS_LISTEN=127.0.0.1:0", "AANET_RATE_LIMITS=off",
		"AANET_LANES=" + strconv.Itoa(benchLanes), "GOGC=" + strconv.Itoa(benchGOGC), "GOMEMLIMIT=768MiB",
	}, env...)
	s.cmd.Stderr = log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 10 * time.Second
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if url, found := strings.CutPrefix(lines.Text(), "listening on "); found {
			s.url = url
			go io.Copy(io.Discard, stdout) // ends with the process
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the service did not start: %s", s.lastLog()), s.stop())
}

func (s *servedProcess) pid() int { return s.cmd.Process.Pid }

func (s *servedProcess) cpu() time.Duration {
	stat, _ := statOf(s.pid())
	return stat.cpu
}

func (s *servedProcess) lastLog() string {
	const most = 2000
	text, _ := os.ReadFile(s.log)
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// stop ends the service as an operator would.
func (s *servedProcess) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the service ended: %w: %s", err, s.lastLog())
	}
	return nil
}

// watchMemory notes the resident memory until the function it returns is called, which gives the most seen.
func (s *servedProcess) watchMemory() func() float64 {
	stop := make(chan struct{})
	var most float64
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, residentMiB(s.pid()))
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return func() float64 {
		close(stop)
		watching.Wait()
		return most
	}
}

// clientProcess is a running aanet bench --client.
type clientProcess struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr *strings.Builder
}

// startClient starts the client and returns when it begins to measure. It gets the keys on its standard
// input, where no list of processes shows them.
func (b *bench) startClient(ctx context.Context, door, url string, load clientLoad, targets []target) (*clientProcess, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &clientProcess{stderr: new(strings.Builder)}
	c.cmd = exec.CommandContext(ctx, program, "bench", "--client="+door, "--url="+url, "--for="+load.duration.String(),
		"--clients="+strconv.Itoa(load.clients), "--rate="+strconv.FormatFloat(load.rate, 'f', 1, 64))
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	c.cmd.Stderr = c.stderr
	var input strings.Builder
	for _, t := range targets {
		fmt.Fprintf(&input, "%s %s\n", t.workspace, t.secret)
	}
	c.cmd.Stdin = strings.NewReader(input.String())
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the client: %w", err)
	}
	c.out = bufio.NewReader(stdout)
	if line, err := c.out.ReadString('\n'); err != nil || line != clientReady {
		_, err = c.finish()
		return nil, errors.Join(fmt.Errorf("the client did not start: %q", line), err)
	}
	return c, nil
}

// finish waits for what the client measured.
func (c *clientProcess) finish() (clientAnswer, error) {
	var answer clientAnswer
	decodeErr := json.NewDecoder(c.out).Decode(&answer)
	if err := c.cmd.Wait(); err != nil {
		return answer, fmt.Errorf("client: %w: %s", err, strings.TrimSpace(c.stderr.String()))
	}
	if decodeErr != nil {
		return answer, fmt.Errorf("client's answer: %w", decodeErr)
	}
	return answer, nil
}
