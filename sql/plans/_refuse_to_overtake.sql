create or replace function metl._refuse_to_overtake(kind text, name text, version int) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _waiting metl.waiting_plan;
begin
    select * into _waiting from metl.waiting_plan as waiting
    where
        waiting.kind = _refuse_to_overtake.kind
        and waiting.name = _refuse_to_overtake.name
        and waiting.version <= _refuse_to_overtake.version
        and waiting.decision is null
    order by waiting.version
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('Version %s of %L waits as plan %s, so that version %s cannot be added yet.',
                             _waiting.version, name, _waiting.plan_id, version),
            hint = format('Decide it first: select metl.confirm_plan(%s) or metl.reject_plan(%s) (`metl plans list`).',
                          _waiting.plan_id, _waiting.plan_id);
    end if;
end $$;
comment on function metl._refuse_to_overtake(text, text, int) is
'Refuses a version while one up to it waits: it would copy from the wrong version and lose what that one keeps.';
