package main

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"aanet/api"
	"aanet/billing"
	"aanet/store"
)

// writeBody is the content of every small write: 1 KiB.
var writeBody = strings.Repeat("x", 1024)

// target is one sub-key of one workspace.
type target struct {
	workspace uuid.UUID
	secret    string // the key as a client sends it
	hash      []byte // as the database knows it
	subkey    uuid.UUID
}

func newTarget(workspace uuid.UUID) (target, error) {
	secret, err := api.NewKey(rand.Reader, false, workspace)
	if err != nil {
		return target{}, err
	}
	key, ok := api.ParseKey(secret)
	if !ok {
		return target{}, fmt.Errorf("a new key cannot be read")
	}
	hash := key.Hash()
	return target{workspace, secret, hash[:], uuid.New()}, nil
}

// pgbenchTarget is a workspace whose id and key pgbench can compute from a number.
func pgbenchTarget(number int) target {
	name := fmt.Sprintf("bench %d", number)
	hash := sha256.Sum256([]byte(name))
	return target{workspace: md5.Sum([]byte(name)), hash: hash[:], subkey: uuid.New()}
}

// makeTargets makes workspaces with so many sub-keys each; their balance outlasts every run.
func makeTargets(ctx context.Context, pool *pgxpool.Pool, workspaces, keys int) ([]target, error) {
	var targets []target
	for range workspaces {
		workspace := uuid.New()
		for range keys {
			t, err := newTarget(workspace)
			if err != nil {
				return nil, err
			}
			targets = append(targets, t)
		}
	}
	return targets, insertTargets(ctx, pool, targets)
}

func insertTargets(ctx context.Context, pool *pgxpool.Pool, targets []target) error {
	var workspaces, subkeys []uuid.UUID
	var hashes [][]byte
	for _, t := range targets {
		workspaces, subkeys, hashes = append(workspaces, t.workspace), append(subkeys, t.subkey), append(hashes, t.hash)
	}
	_, err := pool.Exec(ctx, `
		insert into workspaces (workspace_id, label, created_at, balance, last_ts, refusal_at)
		select distinct w, 'bench', now(), 1000000000000, now(), now() from unnest($1::uuid[]) w`, workspaces)
	if err == nil {
		_, err = pool.Exec(ctx, `
			insert into keys (workspace_id, key_hash, subkey_id, last4, label, minted_seq, created_at)
			select w, h, s, 'benc', 'bench', 0, now() from unnest($1::uuid[], $2::bytea[], $3::uuid[]) t (w, h, s)`,
			workspaces, hashes, subkeys)
	}
	if err != nil {
		return fmt.Errorf("make workspaces: %w", err)
	}
	return nil
}

// pick gives client c its targets by turns, always the same ones, and its own file in each.
func pick(targets []target, clients, client, number int) (target, string) {
	return targets[(client+number*clients)%len(targets)], fmt.Sprintf("d/f%d", client)
}

// writeThrough writes one file through the lanes.
func writeThrough(ctx context.Context, s *store.Store, t target, path, content string) error {
	return fileCall(ctx, s, t, "write_file", "PUT_FILE", path, content, nil, false)
}

// appendThrough appends to one file through the lanes.
func appendThrough(ctx context.Context, s *store.Store, t target, path, content string) error {
	return fileCall(ctx, s, t, "append_file", "APPEND_FILE", path, content, nil, api.FileBytesMax)
}

// fileCall makes the call that the service layer makes for write_file and append_file, which differ in
// one argument, without a fence and an idempotency key.
func fileCall(ctx context.Context, s *store.Store, t target, function, operation, path, content string, ifMatch *string, own any) error {
	var etag string
	var created bool
	price := int64(billing.PriceOf(function).For(len(content)))
	return done(s.Do(ctx, store.Call{
		Function: function, Workspace: t.workspace, Size: len(content),
		Args: []any{t.hash, t.workspace.String(), guardPriced, operation, price, path, api.Ancestors(path), content, len(content), ifMatch, own, nil, nil, nil},
		Into: []any{&etag, &created},
	}))
}

// guardPriced is what the service layer asks of a priced call: refused while the workspace is blocked.
const guardPriced = 2

// listThrough lists a page of a directory and returns how many entries it has.
func listThrough(ctx context.Context, s *store.Store, t target, path string, after *string, limit int) (int, error) {
	var isDir bool
	var content, etag, next *string
	var entries []string
	err := done(s.Do(ctx, store.Call{
		Function: "read_file", Workspace: t.workspace,
		Args: []any{t.hash, t.workspace.String(), guardPriced, "GET_FILE", int64(billing.PriceOf("read_file").Base), path, after, limit},
		Into: []any{&isDir, &content, &etag, &entries, &next},
	}))
	return len(entries), err
}

// done makes a refusal an error: here nothing may be refused.
func done(r store.Result, err error) error {
	if err == nil && r.Code != "" {
		err = fmt.Errorf("refused: %s %s", r.Code, r.Info)
	}
	return err
}

// lanesWay writes through lanes, with all clients.
func (b *bench) lanesWay(s *store.Store, targets []target) way {
	return b.hereWay("lanes", targets, func(ctx context.Context, t target, path string) error {
		return writeThrough(ctx, s, t, path, writeBody)
	})
}

// ordinaryWay writes by ordinary transactions, with all clients.
func (b *bench) ordinaryWay(targets []target) way {
	return b.hereWay("ordinary transaction", targets, func(ctx context.Context, t target, path string) error {
		return writeOrdinary(ctx, b.pool, t, path, writeBody)
	})
}
