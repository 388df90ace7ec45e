package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// clientReady is the line with which the client says that it begins.
const clientReady = "ready\n"

// clientAnswer is what the client measured; CPU is in microseconds, latencies in milliseconds.
type clientAnswer struct {
	Calls   int     `json:"calls"`
	OpsPerS float64 `json:"ops_per_s"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	CPU     float64 `json:"cpu_us"`
}

// clientLoad is the client's side of a door's measurement.
type clientLoad struct {
	url      string
	duration time.Duration
	clients  int
	rate     float64 // calls a second of all clients together; 0 is as many as can be
}

func (l *clientLoad) register(flags *flag.FlagSet) {
	flags.StringVar(&l.url, "url", "", "internal: the service")
	flags.DurationVar(&l.duration, "for", time.Second, "internal: how long")
	flags.IntVar(&l.clients, "clients", benchClients, "internal: connections")
	flags.Float64Var(&l.rate, "rate", 0, "internal: calls a second, 0 without bound")
}

// run connects, says that it is ready, calls for the time given, and prints a clientAnswer.
func (l *clientLoad) run(ctx context.Context, p process, door string) error {
	render := map[string]func(host string, t doorTarget, path string) []byte{"rest": restRequest, "mcp": mcpRequest}[door]
	if render == nil {
		return fmt.Errorf("there is no door %q", door)
	}
	targets, err := readTargets(p.stdin)
	if err != nil {
		return err
	}
	var connections []*doorConn
	for range l.clients {
		conn, err := dialDoor(l.url)
		if err != nil {
			return err
		}
		defer conn.conn.Close()
		connections = append(connections, conn)
	}
	// The requests are the same again and again: the client must not spend the CPU that it measures.
	requests := make([][][]byte, l.clients)
	for client := range requests {
		for number := client; number < len(targets)+client; number += l.clients {
			requests[client] = append(requests[client], render(connections[client].host, targets[number%len(targets)], fmt.Sprintf("d/f%d", client)))
		}
	}
	if _, err := io.WriteString(p.stdout, clientReady); err != nil {
		return err
	}
	cpu := ownCPU()
	started := time.Now()
	f, err := drive(ctx, l.clients, l.duration, func(_ context.Context, client, number int) error {
		time.Sleep(time.Until(l.due(started, client, number)))
		return connections[client].call(requests[client][number%len(requests[client])])
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(p.stdout).Encode(clientAnswer{Calls: f.calls, OpsPerS: f.ops, P50: f.p50, P99: f.p99, CPU: micros(ownCPU() - cpu)})
}

// due is when a client makes a call: the calls of all are spread evenly.
func (l *clientLoad) due(started time.Time, client, number int) time.Time {
	if l.rate == 0 {
		return started
	}
	return started.Add(time.Duration(float64(number*l.clients+client) / l.rate * float64(time.Second)))
}

// doorTarget is a workspace with its key, as a client has them.
type doorTarget struct{ workspace, key string }

func readTargets(r io.Reader) (targets []doorTarget, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		workspace, key, found := strings.Cut(lines.Text(), " ")
		if !found {
			return nil, errors.New("standard input must have lines of a workspace and a key")
		}
		targets = append(targets, doorTarget{workspace, key})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, errors.New("standard input names no workspace")
	}
	return targets, nil
}

// restRequest is a whole HTTP request that writes a file.
func restRequest(host string, t doorTarget, path string) []byte {
	body := fmt.Sprintf(`{"content":%q}`, writeBody)
	return fmt.Appendf(nil, "PUT /v1/workspaces/%s/files/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", t.workspace, path, host, t.key, len(body), body)
}

// mcpRequest is the same as a tool call of a stateless session.
func mcpRequest(host string, t doorTarget, path string) []byte {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"aanet_write_file","arguments":{"workspace_id":%q,"path":%q,"content":%q}}}`,
		t.workspace, path, writeBody)
	return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2025-06-18\r\nContent-Length: %d\r\n\r\n%s", host, t.key, len(body), body)
}

// doorConn is one connection that is kept open.
type doorConn struct {
	host    string
	conn    net.Conn
	answers *bufio.Reader
	body    bytes.Buffer
}

// call sends a request and reads its answer, which must say that the call was done.
func (c *doorConn) call(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	defer answer.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(answer.Body); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer.StatusCode >= 300 || bytes.Contains(c.body.Bytes(), []byte(`"isError":true`)) || bytes.Contains(c.body.Bytes(), []byte(`"error":{`)) {
		return fmt.Errorf("%s: %s", answer.Status, c.body.Bytes())
	}
	return nil
}
