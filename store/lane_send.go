package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that a lane tells apart (Postgres documentation, appendix A).
const (
	stateSerialization = "40001"
	stateDeadlock      = "40P01"
	stateLockTimeout   = "55P03"
	stateCanceled      = "57014" // statement_timeout
	stateReadOnly      = "25006" // the server was demoted: dial again, the URL may name another
)

// sendError says how a batch failed. Unless unknown is set, nothing of it was committed.
type sendError struct {
	cause    error
	unknown  bool   // the commit may have happened
	lost     bool   // the connection is of no further use
	state    string // SQLSTATE, when the server reported the failure
	from, to int    // the calls among which the one at fault is: to is exclusive
}

func (e *sendError) Error() string { return fmt.Sprintf("batch: %v", e.cause) }
func (e *sendError) Unwrap() error { return e.cause }

// alone is the answer to a call that failed without any other beside it.
func (e *sendError) alone() error {
	if strings.HasPrefix(e.state, "53") || strings.HasPrefix(e.state, "57") || strings.HasPrefix(e.state, "58") {
		// Out of memory, disk or time: the server is unwell, the call is not at fault.
		return fmt.Errorf("%w: %w", ErrUnavailable, e)
	}
	return e // a fault of ours: the caller gets INTERNAL
}

// send runs the prepared calls, ordered by workspace, as one transaction in one round trip:
// begin, the calls of each workspace followed by its flush, commit.
func (l *lane) send(ctx context.Context, calls []*pending) *sendError {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	pipeline := l.conn.StartPipeline(ctx)
	l.queueBatch(pipeline, calls)
	if err := pipeline.Sync(); err != nil {
		// A part may have been written, and the last part is the commit.
		return &sendError{cause: err, lost: true, unknown: !pgconn.SafeToRetry(err)}
	}
	failed := readBatch(pipeline, calls)
	closeErr := pipeline.Close()
	if failed == nil {
		if closeErr != nil {
			l.disconnect() // it was committed all the same
		}
		l.used = time.Now()
		return nil
	}
	return l.afterFailure(ctx, failed)
}

func (l *lane) queueBatch(pipeline *pgconn.Pipeline, calls []*pending) {
	pipeline.SendQueryStatement(l.begin, nil, nil, nil)
	for i, p := range calls {
		pipeline.SendQueryStatement(p.statement, p.query.ParamValues, p.query.ParamFormats, p.query.ResultFormats)
		if lastOfWorkspace(calls, i) {
			pipeline.SendQueryStatement(l.flush, [][]byte{p.Workspace[:]}, binaryFormat, nil)
		}
	}
	pipeline.SendQueryStatement(l.commit, nil, nil, nil)
}

var binaryFormat = []int16{1} // of all parameters

func lastOfWorkspace(calls []*pending, i int) bool {
	return i == len(calls)-1 || calls[i+1].Workspace != calls[i].Workspace
}

// readBatch reads the answers in order. An error that the server itself reported before the commit's
// answer means that the transaction was undone; any other leaves the outcome open.
func readBatch(pipeline *pgconn.Pipeline, calls []*pending) *sendError {
	if _, err := readAnswer(pipeline, nil); err != nil {
		return undone(err, 0, len(calls))
	}
	first := 0 // of the workspace
	for i, p := range calls {
		if _, err := readAnswer(pipeline, p); err != nil {
			return undone(err, i, i+1)
		}
		if lastOfWorkspace(calls, i) {
			if _, err := readAnswer(pipeline, nil); err != nil {
				return undone(err, first, i+1)
			}
			first = i + 1
		}
	}
	tag, err := readAnswer(pipeline, nil)
	if err != nil {
		return &sendError{cause: err, unknown: true}
	}
	if tag.String() != "COMMIT" {
		return &sendError{cause: fmt.Errorf("commit answered %q", tag), lost: true}
	}
	return nil
}

// readAnswer reads the answer to one statement, and its row into p if that is given.
func readAnswer(pipeline *pgconn.Pipeline, p *pending) (pgconn.CommandTag, error) {
	results, err := pipeline.GetResults()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	answer, ok := results.(*pgconn.ResultReader)
	if !ok {
		return pgconn.CommandTag{}, fmt.Errorf("pipeline answered %T", results)
	}
	if p != nil {
		p.row = nil
		if answer.NextRow() {
			p.keep(answer.Values())
		}
	}
	return answer.Close()
}

// undone classifies a failure that was seen before the commit's answer.
func undone(err error, from, to int) *sendError {
	state, reported := isServerError(err)
	return &sendError{cause: err, unknown: !reported, lost: state == stateReadOnly, state: state, from: from, to: to}
}

// afterFailure brings the connection back to order: rollback, or give it up.
func (l *lane) afterFailure(ctx context.Context, failed *sendError) *sendError {
	if failed.unknown || failed.lost {
		return failed
	}
	if l.conn.IsClosed() {
		failed.lost = true
	} else if _, err := l.conn.Exec(ctx, "rollback").ReadAll(); err != nil {
		failed.lost = true
	}
	return failed
}

// isServerError tells a failure that the server reported, and its SQLSTATE.
func isServerError(err error) (string, bool) {
	var reported *pgconn.PgError
	if errors.As(err, &reported) {
		return reported.Code, true
	}
	return "", false
}
