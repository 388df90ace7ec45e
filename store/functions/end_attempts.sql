-- Records how attempts went, in the order in which they ended, and gives the lease back. A success
-- ends the row of failures; the one that makes p_failures_max of them disables the webhook, and so
-- does p_gone (the receiver answered 410). A worker that lost its lease only records. Locks the workspace row.
-- p_results: success, failure or unknown (no failure of the receiver; the event goes on waiting)
-- p_retry: when to try again while the last attempt failed; p_strict: keep the order of events
-- p_prompt: all were answered well and at once
-- p_attempts_max: attempts after which an event is given up if the last failed and others were delivered meanwhile;
-- one that outlived them, since the webhook was disabled and enabled again, gets as many more
-- Returns in code: null, NOT_FOUND. disabled tells the reason if this call disabled the webhook, more
-- whether something waits and is due.
create or replace function end_attempts(p_workspace uuid, p_webhook uuid, p_worker uuid,
    p_ids uuid[], p_turns bigint[], p_log_seqs bigint[], p_results text[], p_statuses integer[], p_errors text[], p_durations integer[],
    p_retry interval, p_gone boolean, p_strict boolean, p_prompt boolean, p_failures_max integer, p_attempts_max integer,
    out code text, out info jsonb, out cost bigint, out remaining bigint, out disabled text, out more boolean)
language plpgsql as $$
declare
    a admission := admit_operator(p_workspace);
    w webhooks;
begin
    cost := 0;
    more := false;
    for i in 1 .. cardinality(p_ids) loop
        update webhook_attempts x set finished = true, success = p_results[i] = 'success', status_code = p_statuses[i],
               error = p_errors[i], duration_ms = p_durations[i]
         where x.workspace_id = p_workspace and x.delivery_id = p_ids[i];
    end loop;
    select * into w from webhooks h where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
    if a.code is not null or w.leased_by is distinct from p_worker then
        code := 'NOT_FOUND';
        return;
    end if;
    for i in 1 .. cardinality(p_ids) loop
        if p_results[i] = 'success' then
            delete from webhook_deliveries q where q.workspace_id = p_workspace and q.webhook_id = p_webhook and q.turn = p_turns[i];
            w.failures := 0;
        else
            update webhook_deliveries q set attempts = q.attempts + 1,
                   turn = case when p_strict or p_results[i] = 'unknown' then q.turn else p_log_seqs[i] end
             where q.workspace_id = p_workspace and q.webhook_id = p_webhook and q.turn = p_turns[i];
            if p_results[i] = 'failure' then
                w.failures := w.failures + 1;
                -- Not the one whose failures disable the webhook: nothing else was delivered meanwhile, so it waits.
                delete from webhook_deliveries q
                 where q.workspace_id = p_workspace and q.webhook_id = p_webhook and q.turn in (p_turns[i], p_log_seqs[i])
                   and q.attempts % p_attempts_max = 0 and w.failures < p_failures_max;
            end if;
        end if;
    end loop;
    if p_gone or w.failures >= p_failures_max then
        disabled := case when p_gone then 'gone' else 'failing' end;
        a.t.webhooks := (a.t).webhooks - 1;
        perform set_config('aanet.tally', (a.t)::text, true);
    else
        more := exists (select 1 from webhook_deliveries q where q.workspace_id = p_workspace and q.webhook_id = p_webhook);
    end if;
    update webhooks h set failures = w.failures, prompt = p_prompt, active = disabled is null, disabled_reason = disabled,
           disabled_at = case when disabled is not null then a.ts end,
           due_at = case when not more then null when w.failures > 0 then a.ts + p_retry else a.ts end,
           lease_until = null, leased_by = null, in_flight = '{}'
     where h.workspace_id = p_workspace and h.webhook_id = p_webhook;
    more := more and w.failures = 0;
end $$;
