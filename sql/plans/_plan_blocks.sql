create or replace function metl._plan_blocks(changes metl._block_content[]) returns setof metl._cell_fate
language sql stable
as $$
    with change as materialized (
        select
            each.*, s.name as schema, e.name as entity,
            metl._effective_content(each.schema_id, each.version, each.entity_id, each.entity_version) as old_content
        from unnest(changes) as each
        inner join metl.schema as s on each.schema_id = s.schema_id
        inner join metl.entity as e on each.entity_id = e.entity_id
    )
    -- Names are looked up cell by cell, so that the cost follows the edit whatever the planner expects of it.
    select
        change.schema_id, change.version, change.entity_id, change.entity_version,
        cell.attribute_id, cell.entity_attribute_id,
        change.schema, change.entity,
        (
            select a.name from metl.attribute_version as a
            where a.attribute_id = cell.attribute_id and a.version = change.version
        ),
        (
            select a.name from metl.entity_attribute_version as a
            where a.entity_attribute_id = cell.entity_attribute_id and a.version = change.entity_version
        ),
        cell.fate,
        case cell.fate
            when 'lost' then 'edited'
            when 'gained' then (
                select format('%s to %s: %s', source.type, target.type, metl.cast_effect(source.type, target.type))
                from metl.attribute as source
                inner join metl.entity_attribute as target on target.entity_attribute_id = cell.entity_attribute_id
                where
                    source.attribute_id = cell.attribute_id
                    and metl.cast_effect(source.type, target.type) in ('may not fit', 'no cast')
            )
        end
    from change
    cross join lateral (
        select
            coalesce(old.attribute_id, new.attribute_id) as attribute_id,
            coalesce(old.entity_attribute_id, new.entity_attribute_id) as entity_attribute_id,
            case when new.attribute_id is null then 'lost' when old.attribute_id is null then 'gained' else 'kept' end as fate
        from metl._unnest_content(change.old_content) as old
        full join metl._unnest_content(change.content) as new
            on old.attribute_id = new.attribute_id and old.entity_attribute_id = new.entity_attribute_id
    ) as cell
$$;
comment on function metl._plan_blocks(metl._block_content[]) is 'What edits do to the cells of their blocks.';
