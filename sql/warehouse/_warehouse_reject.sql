-- What is in a batch, and what of it nobody could merge.
create or replace function metl._warehouse_reject(staged text, condition text, reason text) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _count bigint;
begin
    execute format(
        'insert into warehouse._rejected (entity, source, partition, "offset", state, key, reason)
         select work.entity, work.source, %1$s, %2$s, %3$s, work.key, %4$L from warehouse.%5$I as work where %6$s
         on conflict do nothing',
        'case when work.partition ~ ''^[0-9]{1,9}$'' then work.partition::int end',
        'case when work."offset" ~ ''^[0-9]{1,18}$'' then work."offset"::bigint end',
        'case when work.state ~ ''^[0-9]{1,18}$'' then work.state::bigint end',
        reason, staged, condition
    );
    execute format('update warehouse.%I as work set round = -1 where %s', staged, condition);
    get diagnostics _count = row_count;
    return _count;
end $$;
comment on function metl._warehouse_reject(text, text, text) is
'Records why the records that meet a condition are in no table; how many there are.';

create or replace function metl._warehouse_unfit() returns table (condition text, reason text)
language sql immutable
begin atomic
    select rule.*
    from (
        values
        (
            'num_nulls(work.source, work.partition, work."offset", work.state) > 0 '
            'or concat(work.partition, '' '', work."offset", '' '', work.state, '' '', coalesce(work.version, ''0''), '
            ''' '', coalesce(work.at, ''0'')) !~ ''^-?[0-9]{1,9} -?[0-9]{1,18} [0-9]{1,18} [0-9]{1,9} -?[0-9]{1,18}$''',
            'It has no position.'
        ),
        ('work.op is null or work.op not in (''c'', ''r'', ''u'', ''d'', ''t'')', 'It does not say what happened.'),
        ('work.key is null or work.key = ''null'' and work.op in (''u'', ''d'')', 'It has no key.')
    ) as rule (condition, reason);
end;
comment on function metl._warehouse_unfit() is 'Which records nobody could merge, as SQL, and why.';

create or replace function metl._warehouse_screen(staged text, entity text) returns bigint
language sql
as $$
    select sum(metl._warehouse_reject(
        staged, format('work.entity = %L and work.round > 0 and (%s)', entity, unfit.condition), unfit.reason
    ))
    from metl._warehouse_unfit() as unfit
$$;
comment on function metl._warehouse_screen(text, text) is
'Rejects the records of an entity that nobody could merge; how many there are.';

create or replace function metl._warehouse_survey(staged text, entity text) returns jsonb
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
        (select string_agg(unfit.condition, ' or ') from metl._warehouse_unfit() as unfit), staged, entity
    ) into _kinds;
    return _kinds;
end $$;
comment on function metl._warehouse_survey(text, text) is
'The kinds of records of an entity: what happened, and which version was mapped under which state. All in one look, '
'since a batch is large and its kinds are few.';
