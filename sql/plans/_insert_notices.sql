create or replace function metl._insert_notices(
    state bigint, plan metl._cell_fate[], is_known boolean default false, likely_renames jsonb default '[]'
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if exists (select from unnest(plan) as cell where cell.reason is not null) then
        insert into metl.notice (
            state, kind, schema, version, entity, entity_version, lost, likely_renames, confirmed_at, confirmed_by
        )
        select
            _insert_notices.state, lost_block.kind, lost_block.schema, lost_block.version, lost_block.entity, lost_block.entity_version, lost_block.lost,
            metl._filter_renames(lost_block.lost, _insert_notices.likely_renames),
            case when is_known then clock_timestamp() end, case when is_known then session_user end
        from (
            select case when block.is_empty then 'vanished' else 'shrunk' end as kind, block.*
            from metl._lost_by_block(plan, array['dropped', 'edited']) as block
            union all
            select reason.reason, block.*
            from unnest(array['type_changed', 'frozen', 'came_back']) as reason (reason)
            cross join lateral metl._lost_by_block(plan, array[reason.reason]) as block
            where reason.reason in (select cell.reason from unnest(plan) as cell)
        ) as lost_block
        order by lost_block.schema, lost_block.version, lost_block.entity;
    elsif (select bool_and(cell.fate = 'kept') from unnest(plan) as cell) then
        -- One for the whole update, confirmed already: there is nothing to decide.
        insert into metl.notice (state, kind, schema, version, entity, entity_version, lost, confirmed_at)
        select
            _insert_notices.state, 'unchanged',
            case when min(cell.schema) = max(cell.schema) then min(cell.schema) end,
            case when min(cell.version) = max(cell.version) then min(cell.version) end,
            case when min(cell.entity) = max(cell.entity) then min(cell.entity) end,
            case when min(cell.entity_version) = max(cell.entity_version) then min(cell.entity_version) end,
            '[]', clock_timestamp()
        from unnest(plan) as cell;
    end if;
end $$;
comment on function metl._insert_notices(bigint, metl._cell_fate[], boolean, jsonb) is
'Leaves the notices of an update, block by block; those of an edit are confirmed already, since its author made it.';
