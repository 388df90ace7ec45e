package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Overview is the whole service at a glance. Sums over all workspaces are exact at Now; what is counted from the logs is
// as of AsOf, usually less than a minute before.
type Overview struct {
	Now, AsOf                             time.Time
	Alive, Trials, Blocked                int64 // workspaces
	ActiveHour, ActiveDay, ActiveMonth    int64 // workspaces with a row in their log, as of AsOf
	Owed                                  int64 // units: all balances
	Waits                                       // what waits for somebody
	WebhooksWaiting                       int64 // webhooks with something due and not yet taken
	OldestDue                             *time.Time
	Minutes                               []MinuteSum // the last 60, the oldest first
	Answers, Log                          Windows
	Deposits                              []DepositSum
	Feedback                              []FeedbackSum // open, the greatest pledges first
	Lanes                                 LaneFigures
	Jobs                                  []JobSum
	SlowestHour, SlowestDay, SlowestMonth *time.Duration // 99 of 100 answers came within; nil: there were none
}

// Waits is what waits for somebody to do something about it.
type Waits struct {
	RefundsWaiting, RefundUnits       int64
	OldestRefund                      *time.Time
	DepositsOpen, DepositsStuck       int64 // of them: for more than ten minutes, which is the operator's
	FeedbackOpen                      int64
	WebhooksFailing, WebhooksDisabled int64
}

// MinuteSum is one minute of the service.
type MinuteSum struct {
	At       time.Time
	Answers  int64 // of all calls, as the processes counted them
	Refused  int64 // of Answers
	LogCalls int64 // rows of the logs
	Units    int64
}

// Windows are sums by code over the last hour, day and 30 days. Day and month begin with a whole hour.
type Windows struct{ Codes []CodeSum }

// CodeSum is how often a code was answered, or logged, and what was charged.
type CodeSum struct {
	Code                       string
	Hour, Day, Month           int64
	HourUnits, DayUnits, Units int64 // Units: of the month
}

// Total sums over all codes.
func (w Windows) Total() (t CodeSum) {
	for _, c := range w.Codes {
		t.Hour, t.Day, t.Month = t.Hour+c.Hour, t.Day+c.Day, t.Month+c.Month
		t.HourUnits, t.DayUnits, t.Units = t.HourUnits+c.HourUnits, t.DayUnits+c.DayUnits, t.Units+c.Units
	}
	return t
}

// Of is the sum of one code.
func (w Windows) Of(code string) CodeSum {
	if i := slices.IndexFunc(w.Codes, func(c CodeSum) bool { return c.Code == code }); i >= 0 {
		return w.Codes[i]
	}
	return CodeSum{Code: code}
}

// DepositSum counts deposits by network and state, by when they came; open ones of any age count in All.
type DepositSum struct {
	Network, State         string
	Hour, Day, Month, Open int64
	Units                  int64 // of the month
}

// FeedbackSum is an open piece of feedback with a pledge.
type FeedbackSum struct {
	Title, Category string
	Pledged         int64 // units
	CreatedAt       time.Time
}

const (
	overviewMinutes = 60
	stuckAfter      = 10 * time.Minute
	month           = 30 * 24 * time.Hour
)

// Overview reads everything for the operator's first page. Its queries are short, one after the other.
func (s *Store) Overview(ctx context.Context) (Overview, error) {
	var o Overview
	for _, part := range []struct {
		name string
		read func(context.Context, *Overview) error
	}{
		{"workspaces", s.overviewWorkspaces}, {"what waits", s.overviewWaits}, {"minutes", s.overviewMinutes},
		{"answers", s.overviewAnswers}, {"log", s.overviewLog}, {"deposits", s.overviewDeposits}, {"jobs", s.overviewJobs},
	} {
		if err := part.read(ctx, &o); err != nil {
			return Overview{}, fmt.Errorf("overview of %s: %w", part.name, err)
		}
	}
	o.Lanes = s.LaneFigures()
	return o, nil
}

// overviewWorkspaces adds to the sums of the roll-up what changed since: one snapshot, so the result is exact. The cutoff is
// read before, so that the planner knows how few that are; an older one takes in no fewer, as it
// only ever grows until the clock is set back.
func (s *Store) overviewWorkspaces(ctx context.Context, o *Overview) error {
	var cutoff time.Time
	if err := s.pool.QueryRow(ctx, `select cutoff from rollup_state`).Scan(&cutoff); err != nil {
		return poolError(err)
	}
	return poolError(s.pool.QueryRow(ctx, `
		select aanet_now(), s.as_of, s.alive + c.alive, s.trials + c.trials, s.blocked + c.blocked,
		       greatest(-9223372036854775808, least(9223372036854775807, s.balance + c.balance))::bigint, s.active_hour, s.active_day, s.active_month
		  from rollup_state s cross join lateral (
		       select count(*) filter (where w.deleted_at is null) - count(*) filter (where not r.gone) as alive,
		              count(*) filter (where w.deleted_at is null and w.trial_expires_at is not null) - count(*) filter (where not r.gone and r.trial) as trials,
		              count(*) filter (where w.deleted_at is null and w.blocked) - count(*) filter (where not r.gone and r.blocked) as blocked,
		              coalesce(sum(w.balance - coalesce(r.balance, 0)), 0) as balance
		         from workspaces w left join workspace_rollups r on r.workspace_id = w.workspace_id
		        where w.changed_hour >= $1) c`, cutoff).Scan(
		&o.Now, &o.AsOf, &o.Alive, &o.Trials, &o.Blocked, &o.Owed, &o.ActiveHour, &o.ActiveDay, &o.ActiveMonth))
}

// Waits counts what waits, by indexes of nothing else.
func (s *Store) Waits(ctx context.Context) (w Waits, err error) {
	err = s.pool.QueryRow(ctx, `
		select r.n, r.units, r.oldest, d.n, d.stuck, f.n, w.failing, w.disabled
		  from (select count(*) as n, coalesce(sum(units), 0)::bigint as units, min(requested_at) as oldest from refunds where state = 'pending') r,
		       (select count(*) as n, count(*) filter (where coalesce(settling_at, created_at) < aanet_now() - $1::interval) as stuck
		          from deposits where state in ('received', 'settling', 'unknown')) d,
		       (select count(*) as n from feedback where status = 'open') f,
		       (select count(*) filter (where active) as failing, count(*) filter (where not active) as disabled
		          from webhooks where deleted_at is null and (failures > 0 or not active)) w`, stuckAfter).Scan(
		&w.RefundsWaiting, &w.RefundUnits, &w.OldestRefund, &w.DepositsOpen, &w.DepositsStuck, &w.FeedbackOpen, &w.WebhooksFailing, &w.WebhooksDisabled)
	return w, poolError(err)
}

func (s *Store) overviewWaits(ctx context.Context, o *Overview) (err error) {
	if o.Waits, err = s.Waits(ctx); err != nil {
		return err
	}
	err = s.pool.QueryRow(ctx, `select count(*), min(due_at) from webhooks where due_at < $1`, o.Now).Scan(&o.WebhooksWaiting, &o.OldestDue)
	if err != nil {
		return poolError(err)
	}
	o.Feedback, err = collect[FeedbackSum](ctx, s, `
		select title, category, (pledged_budget_usd * 100000)::bigint, created_at from feedback
		 where status = 'open' and pledged_budget_usd > 0 order by pledged_budget_usd desc, created_at desc limit 5`)
	return err
}

func (s *Store) overviewMinutes(ctx context.Context, o *Overview) (err error) {
	first := o.Now.Truncate(time.Minute).Add(-(overviewMinutes - 1) * time.Minute)
	o.Minutes, err = collect[MinuteSum](ctx, s, `
		select m.at, coalesce(a.n, 0)::bigint, coalesce(a.refused, 0)::bigint, coalesce(l.n, 0)::bigint, coalesce(l.units, 0)::bigint
		  from generate_series($1::timestamptz, $2, interval '1 minute') m (at)
		  left join (select at, sum(calls) as n, sum(calls) filter (where what <> 'OK') as refused from answer_minutes where at >= $1 and what not like 'time:%' group by 1) a on a.at = m.at
		  left join (select at, sum(calls) as n, sum(units) as units from log_minutes where at >= $1 group by 1) l on l.at = m.at
		 order by 1`, first, o.Now)
	return err
}

// answeredRow is a code, or a time taken, with how often it was answered in each window.
type answeredRow struct {
	What             string
	Hour, Day, Month int64
}

func (s *Store) overviewAnswers(ctx context.Context, o *Overview) error {
	rows, err := collect[answeredRow](ctx, s, `
		select what, sum(hour)::bigint, sum(day)::bigint, sum(month)::bigint from (
		       select what, calls as hour, 0 as day, 0 as month from answer_minutes where at > $1
		       union all
		       select what, 0, case when at >= $2 then calls else 0 end, calls from answer_hours where at >= $3) x
		 group by 1 order by 1`, o.Now.Add(-time.Hour), dayStart(o.Now), monthStart(o.Now))
	if err != nil {
		return err
	}
	var hour, day, longest histogram
	for _, r := range rows {
		bucket, isTime := bucketOf(r.What)
		if !isTime {
			o.Answers.Codes = append(o.Answers.Codes, CodeSum{Code: r.What, Hour: r.Hour, Day: r.Day, Month: r.Month})
			continue
		}
		hour.add(bucket, r.Hour)
		day.add(bucket, r.Day)
		longest.add(bucket, r.Month)
	}
	o.SlowestHour, o.SlowestDay, o.SlowestMonth = hour.p99(), day.p99(), longest.p99()
	return nil
}

// dayStart and monthStart are where the windows begin: with a whole hour, as that is how sums are kept.
func dayStart(now time.Time) time.Time { return now.Truncate(time.Hour).Add(-23 * time.Hour) }

func monthStart(now time.Time) time.Time { return now.Truncate(time.Hour).Add(time.Hour - month) }

func (s *Store) overviewLog(ctx context.Context, o *Overview) (err error) {
	o.Log.Codes, err = collect[CodeSum](ctx, s, `
		select kind, sum(hour)::bigint, sum(day)::bigint, sum(month)::bigint, sum(hour_units)::bigint, sum(day_units)::bigint, sum(units)::bigint from (
		       select kind, calls as hour, 0 as day, 0 as month, units as hour_units, 0 as day_units, 0 as units from log_minutes where at > $1
		       union all
		       select kind, 0, case when at >= $2 then calls else 0 end, calls, 0, case when at >= $2 then units else 0 end, units from log_hours where at >= $3) x
		 group by 1 order by 1`, o.Now.Add(-time.Hour), dayStart(o.Now), monthStart(o.Now))
	return err
}

// overviewDeposits reads an index over a month of deposits, and sums each part up by itself: as one set they would be sorted.
func (s *Store) overviewDeposits(ctx context.Context, o *Overview) (err error) {
	o.Deposits, err = collect[DepositSum](ctx, s, `
		select network, state, sum(hour)::bigint, sum(day)::bigint, sum(month)::bigint, sum(open)::bigint, sum(units)::bigint from (
		       select network, state, count(*) filter (where created_at > $1) as hour, count(*) filter (where created_at > $2) as day, count(*) as month,
		              0 as open, sum(units) as units from deposits where created_at > $3 group by 1, 2
		       union all
		       select network, state, 0, 0, 0, count(*), 0 from deposits where state in ('received', 'settling', 'unknown') group by 1, 2) d
		 group by 1, 2 order by 1, 2`,
		o.Now.Add(-time.Hour), o.Now.Add(-24*time.Hour), o.Now.Add(-month))
	return err
}

func (s *Store) overviewJobs(ctx context.Context, o *Overview) (err error) {
	o.Jobs, err = s.jobSums(ctx, o.Now)
	return err
}

// histogram counts by the buckets of AnswerBounds, one more for what took longer.
type histogram struct {
	counts [64]int64
	total  int64
}

// add counts calls.
func (h *histogram) add(bucket int, calls int64) {
	if bucket >= 0 && bucket < len(h.counts) {
		h.counts[bucket] += calls
		h.total += calls
	}
}

// p99 is the upper bound of the bucket with the answer that 99 of 100 were not slower than; nil without answers. What is
// slower than the last bound counts as twice that.
func (h *histogram) p99() *time.Duration {
	if h.total == 0 {
		return nil
	}
	rank, seen := h.total-h.total/100, int64(0)
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			if i < len(AnswerBounds) {
				return new(AnswerBounds[i])
			}
			break
		}
	}
	return new(2 * AnswerBounds[len(AnswerBounds)-1])
}
