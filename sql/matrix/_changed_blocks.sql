create or replace function metl._changed_blocks(lines metl.mapping_line[], clear_others boolean)
returns metl._block_content[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _read metl._read_line[] := array(select read from metl._resolve_lines(lines) as read);
    _first record;
begin
    select problem.*, count(*) over () into _first from metl._line_problems(_read) as problem limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Line %s: %s', _first.line, _first.problem),
            detail = format('This is the first of %s problems, so that no line is taken.', _first.count),
            hint = 'metl.check_mappings lists them all. Mend them and give all lines again.';
    end if;
    return array(
        with wanted as materialized (
            select
                read.schema_id, read.live_version as version, read.entity_id, read.live_entity_version as entity_version,
                coalesce(
                    array_agg(array[read.attribute_id, read.entity_attribute_id] order by read.attribute_id)
                    filter (where not read.is_empty), '{}'
                ) as content
            from unnest(_read) as read
            group by read.schema_id, read.live_version, read.entity_id, read.live_entity_version
        ),
        cleared as (
            select one.schema_id, one.version, one.entity_id, one.entity_version, '{}'::bigint[] as content
            from metl._ones as one
            where clear_others
            group by one.schema_id, one.version, one.entity_id, one.entity_version
            having (one.schema_id, one.version, one.entity_id) not in (
                select wanted.schema_id, wanted.version, wanted.entity_id from wanted
            )
        ),
        goal as (
            select * from wanted
            union all
            select * from cleared
        )
        select (goal.schema_id, goal.version, goal.entity_id, goal.entity_version, goal.content)::metl._block_content
        from goal
        where
            goal.content
            is distinct from metl._effective_content(goal.schema_id, goal.version, goal.entity_id, goal.entity_version)
        order by goal.schema_id, goal.version, goal.entity_id
    );
end $$;
comment on function metl._changed_blocks(metl.mapping_line[], boolean) is
'The blocks that some lines would change, with their new contents; an error if a line is wrong.';
