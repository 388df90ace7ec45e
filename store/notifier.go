package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The kinds of notes between replicas: the first letter of a payload. Ids follow, the sender's first.
const (
	noteWaiting = 'w' // somebody waits there, so it wants to be told of commits
	noteEvents  = 'e' // workspaces in which events were committed
	noteLocks   = 'l' // workspaces in which somebody left a lock's line
)

// Bounds of the notifier.
const (
	channel      = "aanet"
	idsMax       = 370                  // in one note: Postgres takes 8,000 bytes
	gatherTime   = 2 * time.Millisecond // for which commits are gathered into one note
	listenersFor = 5 * time.Second      // a replica that was heard is told of commits for that long
	quietMax     = 15 * time.Second     // a silent connection is tried after that
	noteTimeout  = 5 * time.Second
	redialMax    = 2 * time.Second
)

// peers are the other replicas. While none of them has somebody waiting, nothing is sent at all.
type peers struct {
	replica uuid.UUID
	on      atomic.Bool  // a notifier runs
	until   atomic.Int64 // Unix nanoseconds: others are told of commits until then

	mu   sync.Mutex
	due  map[byte]map[uuid.UUID]bool // what is to be sent, by kind
	wake chan struct{}
}

func newPeers(replica uuid.UUID) *peers {
	return &peers{replica: replica, due: map[byte]map[uuid.UUID]bool{noteEvents: {}, noteLocks: {}}, wake: make(chan struct{}, 1)}
}

// tell lets the other replicas know, if any of them wants to. It never blocks.
func (p *peers) tell(kind byte, workspaces []uuid.UUID) {
	if !p.on.Load() || time.Now().UnixNano() > p.until.Load() {
		return
	}
	p.mu.Lock()
	for _, id := range workspaces {
		p.due[kind][id] = true
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take removes what is to be sent of a kind, as payloads.
func (p *peers) take(kind byte) (payloads []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ids := range slices.Chunk(slices.Collect(maps.Keys(p.due[kind])), idsMax) {
		payloads = append(payloads, p.note(kind, ids...))
	}
	clear(p.due[kind])
	return payloads
}

func (p *peers) note(kind byte, ids ...uuid.UUID) string {
	raw := p.replica[:]
	for _, id := range ids {
		raw = append(raw, id[:]...)
	}
	return string(kind) + base64.RawStdEncoding.EncodeToString(raw)
}

// hello tells the others that somebody waits here.
func (p *peers) hello(ctx context.Context, pool *pgxpool.Pool) error {
	if !p.on.Load() {
		return nil
	}
	_, err := pool.Exec(ctx, "select pg_notify($1, $2)", channel, p.note(noteWaiting))
	return err
}

// StartNotifier tells other replicas of this one's commits and hears of theirs, on two connections of its
// own to url, which must not be a pooler. Without it a replica learns of others' commits by looking once
// a second. A database that is away is waited for. stop ends it.
func (s *Store) StartNotifier(ctx context.Context, url string, log *slog.Logger) (stop func(), err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database url: %w", err)
	}
	config.ConnectTimeout = connectTimeout
	config.RuntimeParams["application_name"] = "aanet notifier"
	config.RuntimeParams["synchronous_commit"] = "off" // a note has nothing to lose
	n := &notifier{waiters: s.waiters, config: config, log: log}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	s.waiters.peers.on.Store(true)
	done.Go(func() { n.keepConnected(ctx, "listening", n.listen) })
	done.Go(func() { n.keepConnected(ctx, "telling", n.send) })
	return func() {
		s.waiters.peers.on.Store(false)
		cancel()
		done.Wait()
	}, nil
}

type notifier struct {
	waiters *waiters
	config  *pgx.ConnConfig
	log     *slog.Logger
}

// keepConnected runs work on a connection, and on a new one whenever that is lost.
func (n *notifier) keepConnected(ctx context.Context, what string, work func(context.Context, *pgx.Conn) error) {
	pause := redialPause
	for ctx.Err() == nil {
		conn, err := pgx.ConnectConfig(ctx, n.config)
		if err == nil {
			pause = redialPause
			err = work(ctx, conn)
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_ = conn.Close(closing) // it is broken or we are leaving
			cancel()
		}
		if ctx.Err() != nil {
			return
		}
		n.log.WarnContext(ctx, "notes between replicas are interrupted", "while", what, "error", fmt.Sprint(err))
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, redialMax)
		}
	}
}

// listen hears of other replicas' commits.
func (n *notifier) listen(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return err
	}
	ids, seqs := n.waiters.known() // what was not heard before
	n.waiters.check(ctx, ids, seqs)
	for {
		quiet, cancel := context.WithTimeout(ctx, quietMax)
		note, err := conn.WaitForNotification(quiet)
		silent := quiet.Err() != nil
		cancel()
		switch {
		case err == nil:
			n.heard(note.Payload)
		case !silent || ctx.Err() != nil || conn.IsClosed():
			return err
		default:
			if err := ping(ctx, conn); err != nil {
				return err
			}
		}
	}
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// heard takes a note. One that makes no sense is of a newer version and not for us.
func (n *notifier) heard(payload string) {
	if payload == "" {
		return
	}
	raw, err := base64.RawStdEncoding.DecodeString(payload[1:])
	if err != nil || len(raw) == 0 || len(raw)%16 != 0 {
		return
	}
	var ids []uuid.UUID
	for part := range slices.Chunk(raw, 16) {
		ids = append(ids, uuid.UUID(part))
	}
	sender, ids := ids[0], ids[1:]
	if sender == n.waiters.replica {
		return
	}
	switch payload[0] {
	case noteWaiting:
		n.waiters.peers.until.Store(time.Now().Add(listenersFor).UnixNano())
	case noteEvents:
		n.waiters.markHere(ids)
	case noteLocks:
		n.waiters.forLocks(ids)
	}
}

// send tells of this replica's commits: those of a few milliseconds in one note. What is lost with the
// connection the others find by looking.
func (n *notifier) send(ctx context.Context, conn *pgx.Conn) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quietMax):
			if err := ping(ctx, conn); err != nil {
				return err
			}
			continue
		case <-n.waiters.peers.wake:
		}
		time.Sleep(gatherTime)
		for _, kind := range []byte{noteEvents, noteLocks} {
			for _, payload := range n.waiters.peers.take(kind) {
				if err := notify(ctx, conn, payload); err != nil {
					return err
				}
			}
		}
	}
}

func notify(ctx context.Context, conn *pgx.Conn, payload string) error {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, "select pg_notify($1, $2)", channel, payload)
	return err
}
