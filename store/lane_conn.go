package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// connect makes sure that there is a connection that answers; after a dial that failed it waits redialPause.
func (l *lane) connect(ctx context.Context) error {
	if l.conn != nil && l.alive(ctx) {
		return nil
	}
	l.disconnect()
	if time.Since(l.failed) < redialPause {
		return errors.New("no connection, tried a moment ago")
	}
	if err := l.dial(ctx); err != nil {
		l.disconnect()
		l.failed = time.Now()
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// alive asks a connection that was idle: the server may have gone without a word, and calls sent
// then would end as ErrUnknown.
func (l *lane) alive(ctx context.Context) bool {
	if l.conn.IsClosed() || time.Since(l.used) < idleMax {
		return !l.conn.IsClosed()
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return l.conn.Ping(ctx) == nil
}

func (l *lane) dial(ctx context.Context) (err error) {
	if l.conn, err = pgconn.ConnectConfig(ctx, l.config); err != nil {
		l.conn = nil
		return err
	}
	l.prepared = map[callKey]*pgconn.StatementDescription{}
	for _, s := range []struct {
		into **pgconn.StatementDescription
		sql  string
	}{{&l.begin, "begin"}, {&l.flush, "select flush($1)"}, {&l.commit, "commit"}} {
		if *s.into, err = l.conn.Prepare(ctx, s.sql, s.sql, nil); err != nil {
			return err
		}
	}
	l.used = time.Now()
	return nil
}

func (l *lane) disconnect() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx) // it is broken or we are leaving: nothing to do about a failure
	l.conn = nil
}

// prepare makes sure that there is a connection which knows the statement of each call, and that
// each is encoded. It answers the calls that cannot be sent and returns the others. Nothing is sent of any.
func (l *lane) prepare(ctx context.Context, calls []*pending) ([]*pending, *sendError) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := l.connect(ctx); err != nil {
		return calls, &sendError{cause: err, lost: true}
	}
	var lost *sendError
	calls = slices.DeleteFunc(calls, func(p *pending) bool {
		if lost != nil {
			return false
		}
		err := l.prepareOne(ctx, p)
		if err != nil && l.conn.IsClosed() {
			lost = &sendError{cause: err, lost: true}
			return false
		}
		if err != nil {
			p.finish(err) // a fault of ours: the caller gets INTERNAL
		}
		return err != nil
	})
	return calls, lost
}

func (l *lane) prepareOne(ctx context.Context, p *pending) error {
	known := l.prepared[p.key]
	if known == nil {
		var err error
		if known, err = l.conn.Prepare(ctx, p.key.name(), p.key.sql(), nil); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		l.prepared[p.key] = known
		l.statements.Store(p.key, known)
	}
	if p.statement != nil {
		return nil
	}
	return p.encode(known)
}

// forget lets a statement be prepared anew, as its function may have been replaced in a way that its plan does not survive.
func (l *lane) forget(ctx context.Context, p *pending) {
	delete(l.prepared, p.key)
	l.statements.Delete(p.key)
	if err := l.conn.Deallocate(ctx, p.key.name()); err != nil {
		l.disconnect()
	}
}
