-- What records of one schema version, mapped under one state, have for an entity.
create or replace function metl._mapped_columns(entity text, state bigint, schema text, version int)
returns table (attribute text, name text, source_type text, type text, target text)
language sql stable
as $$
    select cell.entity_attribute, known.name, source.source_type, source.type, identity.type
    from (
        select one.attribute, one.entity_attribute, one.entity_version
        from metl.decompaction as one
        where
            one.schema = _mapped_columns.schema and one.version = _mapped_columns.version
            and one.entity = _mapped_columns.entity and _mapped_columns.state = metl.current_state()
        union all
        select one.attribute, one.entity_attribute, one.entity_version
        from (
            select least(_mapped_columns.state, metl.current_state()) as state where _mapped_columns.state <> metl.current_state()
        ) as earlier
        cross join lateral metl.decompaction_at(earlier.state) as one
        where
            one.schema = _mapped_columns.schema and one.version = _mapped_columns.version
            and one.entity = _mapped_columns.entity
    ) as cell
    inner join metl.schema_attributes as source
        on
            source.schema = _mapped_columns.schema and source.version = _mapped_columns.version
            and source.attribute = cell.attribute
    inner join metl.entity_attributes as target
        on
            target.entity = _mapped_columns.entity and target.entity_version = cell.entity_version
            and target.entity_attribute = cell.entity_attribute
    inner join metl.warehouse_column as known
        on target.entity_attribute_id = known.entity_attribute_id and not known.retired
    -- An attribute may have got another type since, which the column has now.
    inner join lateral (
        select live.type from metl.entity_attributes as live
        inner join metl.warehouse_column as same using (entity_attribute_id)
        where live.entity = _mapped_columns.entity and live.is_live and same.name = known.name
        limit 1
    ) as identity on true
$$;
comment on function metl._mapped_columns(text, bigint, text, int) is
'The columns that records of a schema version have values for, mapped under a state, and the types of these values '
'at the source.';
