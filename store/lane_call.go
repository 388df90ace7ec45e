package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// pending is a call that waits for its result. Its caller encodes the arguments before and decodes
// the answer after, so a fault in either concerns nobody else, and a lane only moves bytes. A caller
// that is gone reads nothing: the lane writes to row and done, never to what Into points to.
type pending struct {
	Call
	key       callKey
	ctx       context.Context
	done      chan error
	since     time.Time
	statement *pgconn.StatementDescription // nil until it is known
	query     pgx.ExtendedQueryBuilder     // the arguments in wire format, once statement is set
	row       [][]byte                     // the answer; each try of the call replaces it
}

// callKey tells statements apart.
type callKey struct {
	function string
	args     int
}

func newPending(ctx context.Context, c Call) *pending {
	return &pending{Call: c, key: callKey{c.Function, 1 + len(c.Args)}, ctx: ctx, done: make(chan error, 1), since: time.Now()}
}

// sql calls one function and does nothing else, so that a distributed Postgres can hand the whole
// call to the node that holds the workspace.
func (k callKey) sql() string {
	marks := make([]string, k.args)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	return fmt.Sprintf("select * from %s(%s)", pgx.Identifier{k.function}.Sanitize(), strings.Join(marks, ", "))
}

// name is what the statement is called on every lane's connection.
func (k callKey) name() string { return fmt.Sprintf("%s/%d", k.function, k.args) }

// firstColumns are code, info, cost and remaining.
const firstColumns = 4

// encode puts the arguments into wire format. Nothing was sent when it fails.
func (p *pending) encode(s *pgconn.StatementDescription) error {
	if want := firstColumns + len(p.Into); len(s.Fields) != want {
		return fmt.Errorf("answers %d columns, the caller wants %d", len(s.Fields), want)
	}
	types := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(types)
	args := make([]any, 0, 1+len(p.Args))
	args = append(args, pgtype.UUID{Bytes: p.Workspace, Valid: true})
	if err := p.query.Build(types, s, append(args, p.Args...)); err != nil {
		return err
	}
	p.statement = s
	p.Args = nil // so that contents are not held twice
	return nil
}

// keep copies the answer out of the connection's buffer.
func (p *pending) keep(values [][]byte) {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	buf := make([]byte, 0, size)
	p.row = make([][]byte, len(values))
	for i, v := range values {
		if v != nil {
			from := len(buf)
			buf = append(buf, v...)
			p.row[i] = buf[from:]
		}
	}
}

// decode reads the answer. The call was committed even if that fails: a fault of ours, as each
// function answers one row. A refusal leaves the columns of success alone.
func (p *pending) decode() (Result, error) {
	var r Result
	if p.row == nil {
		return r, errors.New("it answered no row")
	}
	into := [firstColumns]any{&r.Code, &r.Info, &r.Cost, &r.Remaining}
	first := 0
	if p.row[0] == nil { // no refusal, and Code cannot take null
		first = 1
	}
	types := typeMaps.Get().(*pgtype.Map)
	defer typeMaps.Put(types)
	for i := first; i < firstColumns; i++ {
		if err := p.scan(types, i, into[i]); err != nil {
			return r, err
		}
	}
	if r.Code != "" {
		return r, nil
	}
	for i, target := range p.Into {
		if err := p.scan(types, firstColumns+i, target); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (p *pending) scan(types *pgtype.Map, column int, target any) error {
	field := p.statement.Fields[column]
	if err := types.Scan(field.DataTypeOID, p.query.ResultFormats[column], p.row[column], target); err != nil {
		return fmt.Errorf("column %s: %w", field.Name, err)
	}
	return nil
}

// typeMaps are shared by callers because one serves one goroutine at a time and is dear to make.
var typeMaps = sync.Pool{New: func() any { return pgtype.NewMap() }}

// finish lets the caller go on; one that is gone never notices.
func (p *pending) finish(err error) { p.done <- err }

func finishAll(calls []*pending, err error) {
	for _, p := range calls {
		p.finish(err)
	}
}
