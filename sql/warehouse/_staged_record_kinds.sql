create or replace function metl._staged_record_kinds(staged text, entity text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _kinds jsonb;
begin
    execute format(
        'select coalesce(jsonb_agg(kind), ''[]'') from (
            select work.op, work.state, work.schema, work.version, bool_and((%s) is not true) as fits
            from warehouse.%I as work where work.entity = %L and work.round > 0
            group by work.op, work.state, work.schema, work.version
        ) as kind',
        (select string_agg(unfit.condition, ' or ') from metl._rejection_rules() as unfit), staged, entity
    ) into _kinds;
    return _kinds;
end $$;
comment on function metl._staged_record_kinds(text, text) is
'The kinds of records of an entity: what happened, and which version was mapped under which state. All in one look, '
'since a batch is large and its kinds are few.';
