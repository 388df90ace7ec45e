package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// sendError says how a batch failed. Unless unknown is set, nothing of it was committed.
type sendError struct {
	cause     error
	unknown   bool      // the commit may have happened
	lost      bool      // the connection is of no further use
	state     string    // SQLSTATE, when the server reported the failure
	workspace uuid.UUID // whose call or flush failed
}

func (e *sendError) Error() string { return fmt.Sprintf("batch: %v", e.cause) }
func (e *sendError) Unwrap() error { return e.cause }

const flushSQL = "select flush($1)"

// send runs the calls, ordered by workspace, as one transaction in one round trip:
// begin, the calls of each workspace followed by its flush, commit.
func (l *lane) send(ctx context.Context, calls []*pending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	if err := l.connect(ctx); err != nil {
		return &sendError{cause: err, lost: true}
	}
	results := l.conn.SendBatch(ctx, batchOf(calls))
	err := readResults(results, calls)
	closeErr := results.Close()
	if err != nil {
		return l.afterFailure(ctx, err)
	}
	if closeErr != nil {
		return &sendError{cause: closeErr, unknown: true}
	}
	return nil
}

func batchOf(calls []*pending) *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue("begin")
	for i, p := range calls {
		b.Queue(callSQL(p.Function, 1+len(p.Args)), append([]any{p.Workspace}, p.Args...)...)
		if lastOfWorkspace(calls, i) {
			b.Queue(flushSQL, p.Workspace)
		}
	}
	b.Queue("commit")
	return b
}

// callSQL is the text of a call: one function and nothing else, so that a distributed Postgres can
// hand the whole call to the node that holds the workspace.
func callSQL(function string, args int) string {
	key := callKey{function, args}
	if text, ok := callTexts.Load(key); ok {
		return text.(string)
	}
	marks := make([]string, args)
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	text := fmt.Sprintf("select * from %s(%s)", pgx.Identifier{function}.Sanitize(), strings.Join(marks, ", "))
	callTexts.Store(key, text)
	return text
}

type callKey struct {
	function string
	args     int
}

var callTexts sync.Map // callKey to string; as many entries as there are functions

// read takes the call's row. A refusal leaves the columns of success null, so they are not scanned.
func (p *pending) read(results pgx.BatchResults) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%s returned no row", p.Function)
	}
	var code *string
	into := []any{&code, &p.result.Info, &p.result.Cost, &p.result.Remaining}
	if refused := rows.RawValues()[0] != nil; refused {
		into = append(into, make([]any, len(p.Into))...)
	} else {
		into = append(into, p.Into...)
	}
	if err := rows.Scan(into...); err != nil {
		return err
	}
	if code != nil {
		p.result.Code = *code
	}
	rows.Close()
	return rows.Err()
}

func lastOfWorkspace(calls []*pending, i int) bool {
	return i == len(calls)-1 || calls[i+1].Workspace != calls[i].Workspace
}

// readResults reads the answers in order. An error before the commit's answer that the server
// itself reported means that the transaction was undone; any other leaves the outcome open.
func readResults(results pgx.BatchResults, calls []*pending) error {
	if _, err := results.Exec(); err != nil {
		return undone(err, uuid.Nil)
	}
	for i, p := range calls {
		if err := p.read(results); err != nil {
			return undone(err, p.Workspace)
		}
		if lastOfWorkspace(calls, i) {
			if _, err := results.Exec(); err != nil {
				return undone(err, p.Workspace)
			}
		}
	}
	tag, err := results.Exec()
	if err != nil {
		return &sendError{cause: err, unknown: true}
	}
	if tag.String() != "COMMIT" {
		return &sendError{cause: fmt.Errorf("commit answered %q", tag), lost: true}
	}
	return nil
}

// undone classifies a failure that was seen before the commit's answer.
func undone(err error, workspace uuid.UUID) error {
	state, reported := isServerError(err)
	return &sendError{cause: err, state: state, workspace: workspace, unknown: !reported}
}

// afterFailure brings the connection back to order: rollback, or give it up.
func (l *lane) afterFailure(ctx context.Context, err error) error {
	var failed *sendError
	if !errors.As(err, &failed) {
		return err
	}
	if l.conn.IsClosed() {
		failed.lost = true
		return failed
	}
	if failed.unknown || failed.lost {
		return failed
	}
	if _, rollbackErr := l.conn.Exec(ctx, "rollback"); rollbackErr != nil {
		failed.lost = true
	}
	return failed
}
