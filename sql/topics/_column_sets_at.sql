create or replace function metl._column_sets_at(state bigint, only_schema text default null)
returns table (schema text, version int, kind text, ref text, column_set jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with ref as (
        -- A content that comes back gives several versions the same ref: messages then mean the newest.
        select named.name as schema, max(schema_ref.version) as version, schema_ref.kind, schema_ref.ref
        from metl.schema_ref
        inner join metl.schema as named on schema_ref.schema_id = named.schema_id
        where
            (only_schema is null or named.name = only_schema)
            and schema_ref.since <= _column_sets_at.state
            and (schema_ref.until > _column_sets_at.state or schema_ref.until is null)
        group by named.name, schema_ref.kind, schema_ref.ref
        union all
        select named.name, live.version, 'version', live.version::text
        from metl.schema_version as live
        inner join metl.schema as named on live.schema_id = named.schema_id
        where
            (only_schema is null or named.name = only_schema)
            and live.added <= _column_sets_at.state
            and (live.deleted > _column_sets_at.state or live.deleted is null)
    ),

    block as (
        select
            one.schema, one.version, one.entity, one.entity_version,
            jsonb_object_agg(one.entity_attribute, one.attribute) as mapping
        from metl._decompaction_at(_column_sets_at.state, only_schema) as one
        group by one.schema, one.version, one.entity, one.entity_version
    ),

    column_set as (
        select
            block.schema,
            block.version,
            jsonb_agg(
                jsonb_build_object(
                    'entity', block.entity, 'entity_version', block.entity_version, 'mapping', block.mapping
                ) order by block.entity
            ) as column_set
        from block
        group by block.schema, block.version
    )

    select ref.schema, ref.version, ref.kind, ref.ref, coalesce(column_set.column_set, '[]')
    from ref
    left join column_set on ref.schema = column_set.schema and ref.version = column_set.version;
end $$;
comment on function metl._column_sets_at(bigint, text) is
'By what messages named the versions of schemas in a state, "version" among the kinds, and the column set of each; of '
'all schemas or of one.';
