create or replace function metl._block_plan(changes metl._block_content[]) returns setof metl._cell_fate
language sql stable
as $$
    select
        change.schema_id, change.version, change.entity_id, change.entity_version,
        cell.attribute_id, cell.entity_attribute_id,
        schema.name, entity.name, source.name, target.name,
        cell.fate, case cell.fate when 'lost' then 'edited' end
    from unnest(changes) as change
    cross join lateral (
        select
            coalesce(old.attribute_id, new.attribute_id) as attribute_id,
            coalesce(old.entity_attribute_id, new.entity_attribute_id) as entity_attribute_id,
            case when new.attribute_id is null then 'lost' when old.attribute_id is null then 'gained' else 'kept' end as fate
        from metl._pairs(
            metl._content_at(change.schema_id, change.version, change.entity_id, change.entity_version)
        ) as old
        full join metl._pairs(change.content) as new
            on old.attribute_id = new.attribute_id and old.entity_attribute_id = new.entity_attribute_id
    ) as cell
    inner join metl.schema on change.schema_id = schema.schema_id
    inner join metl.entity on change.entity_id = entity.entity_id
    inner join metl.attribute_version as source
        on cell.attribute_id = source.attribute_id and change.version = source.version
    inner join metl.entity_attribute_version as target
        on cell.entity_attribute_id = target.entity_attribute_id and change.entity_version = target.version
$$;
comment on function metl._block_plan(metl._block_content[]) is 'What edits do to the cells of their blocks.';
