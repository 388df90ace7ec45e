package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aanet/store/storetest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// noteFunction is a call whose label says what it does; each one that is committed leaves a row.
const noteFunction = `
create table notes (n bigserial primary key, workspace_id uuid not null, label text not null);
create sequence tries;
create table gate (opened boolean);
create function note(p_workspace uuid, p_label text,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out echo text)
language plpgsql as $$
begin
    perform 1 from workspaces where workspace_id = p_workspace for no key update;
    insert into notes (workspace_id, label) values (p_workspace, p_label);
    cost := length(p_label); echo := p_label;
    if p_label like 'refuse%' then
        code := 'CONFLICT'; info := jsonb_build_object('label', p_label); echo := null;
    elsif p_label like 'change its mind%' and nextval('tries') = 1 then
        code := 'CONFLICT'; info := jsonb_build_object('label', p_label); echo := null;
    elsif p_label like 'raise%' then
        raise exception 'as the label says: %', p_label;
    elsif p_label like 'clash once%' and nextval('tries') <= 2 then
        raise exception using errcode = 'serialization_failure';
    elsif p_label like 'disk full%' then
        raise exception using errcode = 'disk_full';
    elsif p_label like 'run out of time%' then
        raise exception using errcode = 'query_canceled'; -- as its statement_timeout says it
    elsif p_label like 'wait%' then
        while not exists (select from gate) loop
            perform pg_sleep(0.005);
        end loop;
    elsif p_label like 'sleep%' then
        perform pg_sleep(split_part(p_label, ' ', 2)::float8);
    end if;
end $$;`

// notebook is a database with the function note, for tests of the lanes themselves.
type notebook struct {
	t      *testing.T
	dsn    string
	sql    *pgx.Conn
	config *pgx.ConnConfig
}

func openNotebook(t *testing.T) *notebook {
	t.Helper()
	nb := &notebook{t: t, dsn: storetest.Database(t)}
	var err error
	if nb.sql, err = pgx.Connect(t.Context(), nb.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nb.sql.Close(context.Background()) })
	if nb.config, err = pgx.ParseConfig(nb.dsn); err != nil {
		t.Fatal(err)
	}
	nb.exec(noteFunction)
	return nb
}

func (nb *notebook) exec(sql string, args ...any) {
	nb.t.Helper()
	if _, err := nb.sql.Exec(context.Background(), sql, args...); err != nil {
		nb.t.Fatalf("%s: %v", sql, err)
	}
}

// labels are the notes committed for a workspace, in the order they were made.
func (nb *notebook) labels(workspace uuid.UUID) []string {
	nb.t.Helper()
	rows, err := nb.sql.Query(context.Background(), "select label from notes where workspace_id = $1 order by n", workspace)
	if err != nil {
		nb.t.Fatal(err)
	}
	labels, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		nb.t.Fatal(err)
	}
	return labels
}

// openGate ends the calls that wait; it has to come before their statement_timeout.
func (nb *notebook) openGate() { nb.t.Helper(); nb.exec("insert into gate values (true)") }

// settled waits until no connection of a lane is doing anything, so that a call whose caller got
// no answer has either been committed or not.
func (nb *notebook) settled() {
	nb.t.Helper()
	nb.until("the lanes' connections are quiet", `select not exists (select from pg_stat_activity
		where datname = current_database() and application_name like 'aanet lane%' and state <> 'idle')`)
}

// until waits for a query to answer true.
func (nb *notebook) until(what, sql string, args ...any) {
	nb.t.Helper()
	eventually(nb.t, what, func() (ok bool) {
		if err := nb.sql.QueryRow(context.Background(), sql, args...).Scan(&ok); err != nil {
			nb.t.Fatal(err)
		}
		return ok
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// lane is one lane that the test drives by hand: serve runs exactly the batch that it is given.
func (nb *notebook) lane(config *pgx.ConnConfig) *lane {
	l := newLane(&config.Config, new(sync.Map), newLaneMetrics(prometheus.NewRegistry()), "aanet lane by hand")
	nb.t.Cleanup(l.disconnect)
	return l
}

// lanes are n lanes as the service has them.
func (nb *notebook) lanes(config *pgx.ConnConfig, n int) *Lanes {
	ls := OpenLanes(config, n, newLaneMetrics(prometheus.NewRegistry()))
	nb.t.Cleanup(func() {
		if err := ls.Close(context.Background()); err != nil {
			nb.t.Error(err)
		}
	})
	return ls
}

// asked is a call of note with the place for its answer.
type asked struct {
	*pending
	label string
	echo  string
}

func noteCall(workspace uuid.UUID, label string, echo *string) Call {
	return Call{Function: "note", Workspace: workspace, Args: []any{label}, Into: []any{echo}, Size: len(label)}
}

func ask(workspace uuid.UUID, label string) *asked {
	a := &asked{label: label}
	a.pending = newPending(context.Background(), noteCall(workspace, label, &a.echo))
	return a
}

func askAll(workspace uuid.UUID, labels ...string) (all []*asked) {
	for _, label := range labels {
		all = append(all, ask(workspace, label))
	}
	return all
}

// serve has a lane send calls as one batch.
func serve(l *lane, groups ...[]*asked) {
	var batch []*pending
	for _, group := range groups {
		for _, a := range group {
			batch = append(batch, a.pending)
		}
	}
	l.serve(context.Background(), batch)
}

// answer is the outcome of a call that was served.
func (a *asked) answer(t *testing.T) (Result, error) {
	t.Helper()
	select {
	case err := <-a.done:
		if err != nil {
			return Result{}, err
		}
		return a.decode()
	default:
		t.Fatalf("%s: was not answered", a.label)
		return Result{}, nil
	}
}

// ok demands that the call was done and that the answer is its own.
func (a *asked) ok(t *testing.T) {
	t.Helper()
	result, err := a.answer(t)
	if err != nil || result.Code != "" || a.echo != a.label || result.Cost != int64(len(a.label)) || result.Remaining != nil {
		t.Errorf("%s: answered %+v with echo %q, error %v", a.label, result, a.echo, err)
	}
}

func allOK(t *testing.T, groups ...[]*asked) {
	t.Helper()
	for _, group := range groups {
		for _, a := range group {
			a.ok(t)
		}
	}
}

// same demands that two lists of labels are equal.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s; want %s", what, strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

func numbered(prefix string, n int) (labels []string) {
	for i := range n {
		labels = append(labels, fmt.Sprintf("%s %d", prefix, i))
	}
	return labels
}

// undoneBatches is how many batches a lane's metrics count as undone.
func undoneBatches(t *testing.T, m *laneMetrics) int {
	t.Helper()
	var metric dto.Metric
	if err := m.failures.Write(&metric); err != nil {
		t.Fatal(err)
	}
	return int(metric.GetCounter().GetValue())
}
