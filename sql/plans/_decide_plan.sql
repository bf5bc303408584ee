create or replace function metl._decide_plan(plan_id bigint, decision text) returns metl.waiting_plan
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _plan metl.waiting_plan;
begin
    select * into _plan from metl.waiting_plan as waiting where waiting.plan_id = _decide_plan.plan_id;
    if not found or _plan.decision is not null then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'No plan %s waits%s.', coalesce(plan_id::text, 'null'),
                case when found then format(': it was %s by %s', _plan.decision, _plan.decided_by) else '' end
            ),
            hint = 'metl.plans (`metl plans list`) lists those that wait.';
    end if;
    update metl.waiting_plan
    set decision = _decide_plan.decision, decided_at = clock_timestamp(), decided_by = session_user
    where waiting_plan.plan_id = _decide_plan.plan_id;
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where notice.plan_id = _decide_plan.plan_id and notice.confirmed_at is null;
    return _plan;
end $$;
comment on function metl._decide_plan(bigint, text) is 'Records who decided a waiting plan, and when.';
