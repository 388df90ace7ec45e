package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// ErrNoSession: there is no such session, it is over, or its operator is disabled.
var ErrNoSession = errors.New("no such session")

// seenEvery is how often a session in use is written to.
const seenEvery = time.Minute

// Session is one login of an operator. Whoever has the token that hashes to TokenHash is him.
type Session struct {
	TokenHash  []byte
	CreatedAt  time.Time
	LastSeenAt time.Time // to a minute
	ExpiresAt  time.Time
	Address    string
	Operator   Operator
}

// Login is what a successful login leaves behind.
type Login struct {
	Session    Session
	DeviceHash []byte // of the browser's cookie
	Network    string // of the client's address
}

// OpenSession begins a session, remembers the browser and the network, and forgets sessions that are over. now is the
// caller's clock, as in the other functions of sessions. ErrPasswordChanged: the operator as he was read has another
// password now, or is disabled; whoever did that has ended his sessions, and this one would stay.
func (s *Store) OpenSession(ctx context.Context, act Act, l Login, now time.Time, idle time.Duration) error {
	return s.audited(ctx, act, func(tx pgx.Tx) (entry, error) {
		var batch pgx.Batch
		operator := l.Session.Operator.ID
		tag, err := tx.Exec(ctx, `select from operators where operator_id = $1 and password_hash = $2 and disabled_at is null for update`, operator, l.Session.Operator.PasswordHash)
		if err != nil || tag.RowsAffected() == 0 {
			return entry{}, cmp.Or(err, ErrPasswordChanged)
		}
		batch.Queue(`delete from operator_sessions where expires_at <= $1 or last_seen_at <= $2`, now, now.Add(-idle))
		batch.Queue(`insert into operator_sessions (token_hash, operator_id, created_at, last_seen_at, expires_at, address)
			values ($1, $2, $3, $3, $4, $5)`, l.Session.TokenHash, operator, now, l.Session.ExpiresAt, l.Session.Address)
		batch.Queue(`insert into operator_devices as d (token_hash, operator_id, network, created_at, last_login_at) values ($1, $2, $3, $4, $4)
			on conflict (token_hash) do update set network = excluded.network, last_login_at = excluded.last_login_at
			where d.operator_id = excluded.operator_id`, l.DeviceHash, operator, l.Network, now)
		batch.Queue(`update operators set last_login_at = $2 where operator_id = $1`, operator, now)
		return entry{action: "operator.login", kind: "operator", subject: operator.String()}, tx.SendBatch(ctx, &batch).Close()
	})
}

// SessionOf finds a living session: neither expired nor unused for as long as idle. ErrNoSession: there is none.
func (s *Store) SessionOf(ctx context.Context, tokenHash []byte, now time.Time, idle time.Duration) (Session, error) {
	var n Session
	o := &n.Operator
	err := s.pool.QueryRow(ctx, `
		select s.token_hash, s.created_at, s.last_seen_at, s.expires_at, s.address, `+operatorColumns+`
		  from operator_sessions s join operators o on o.operator_id = s.operator_id
		 where s.token_hash = $1 and s.expires_at > $2 and s.last_seen_at > $3 and o.disabled_at is null`,
		tokenHash, now, now.Add(-idle)).Scan(&n.TokenHash, &n.CreatedAt, &n.LastSeenAt, &n.ExpiresAt, &n.Address,
		&o.ID, &o.Email, &o.Name, &o.Role, &o.PasswordHash, &o.CreatedAt, &o.LastLoginAt, &o.DisabledAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, ErrNoSession
	}
	return n, poolError(err)
}

// TouchSession keeps a session from going idle. It writes once a minute at most.
func (s *Store) TouchSession(ctx context.Context, n Session, now time.Time) error {
	if now.Sub(n.LastSeenAt) < seenEvery {
		return nil
	}
	_, err := s.pool.Exec(ctx, `update operator_sessions set last_seen_at = $2 where token_hash = $1 and last_seen_at < $2`, n.TokenHash, now)
	return poolError(err)
}

// EndSession logs one session out.
func (s *Store) EndSession(ctx context.Context, tokenHash []byte) error {
	_, err := s.pool.Exec(ctx, `delete from operator_sessions where token_hash = $1`, tokenHash)
	return poolError(err)
}

// EndSessions logs all sessions of an operator out.
func (s *Store) EndSessions(ctx context.Context, act Act, operator uuid.UUID) error {
	return s.audited(ctx, act, func(tx pgx.Tx) (entry, error) {
		tag, err := tx.Exec(ctx, `delete from operator_sessions where operator_id = $1`, operator)
		return entry{action: "operator.logout_everywhere", kind: "operator", subject: operator.String(),
			before: map[string]any{"sessions": tag.RowsAffected()}, after: map[string]any{"sessions": 0}}, err
	})
}

// SessionsOf lists the living sessions of an operator, the newest first.
func (s *Store) SessionsOf(ctx context.Context, operator uuid.UUID, now time.Time, idle time.Duration) ([]Session, error) {
	rows, err := collect[struct {
		Hash                       []byte
		CreatedAt, SeenAt, Expires time.Time
		Address                    string
	}](ctx, s, `select token_hash, created_at, last_seen_at, expires_at, address from operator_sessions
		 where operator_id = $1 and expires_at > $2 and last_seen_at > $3 order by created_at desc`, operator, now, now.Add(-idle))
	sessions := make([]Session, len(rows))
	for i, r := range rows {
		sessions[i] = Session{TokenHash: r.Hash, CreatedAt: r.CreatedAt, LastSeenAt: r.SeenAt, ExpiresAt: r.Expires, Address: r.Address}
	}
	return sessions, err
}

// Familiar tells whether an operator has logged in with this browser, and whether from this network, since a time.
func (s *Store) Familiar(ctx context.Context, operator uuid.UUID, deviceHash []byte, network string, since time.Time) (device, place bool, err error) {
	err = s.pool.QueryRow(ctx, `
		select exists (select from operator_devices where token_hash = $2 and operator_id = $1 and last_login_at > $4),
		       exists (select from operator_devices where operator_id = $1 and network = $3 and last_login_at > $4)`,
		operator, deviceHash, network, since).Scan(&device, &place)
	return device, place, poolError(err)
}
