create or replace function metl.matrix_at(state bigint)
returns table (key text, state bigint, schema text, version int, format text, payload text, column_set text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with topics as materialized (
        select * from metl._topics_at(matrix_at.state)
    ),

    ref as (
        -- A content that comes back gives several versions the same ref: messages then mean the newest.
        select schema.name as schema, max(schema_ref.version) as version, schema_ref.kind, schema_ref.ref
        from metl.schema_ref
        inner join metl.schema on schema_ref.schema_id = schema.schema_id
        where
            schema_ref.since <= matrix_at.state
            and (schema_ref.until > matrix_at.state or schema_ref.until is null)
        group by schema.name, schema_ref.kind, schema_ref.ref
        union all
        select schema.name, live.version, 'version', live.version::text
        from metl.schema_version as live
        inner join metl.schema on live.schema_id = schema.schema_id
        where live.added <= matrix_at.state and (live.deleted > matrix_at.state or live.deleted is null)
    ),

    block as materialized (
        select
            one.schema, one.version, one.entity, one.entity_version,
            jsonb_object_agg(one.entity_attribute, one.attribute) as mapping
        from metl.decompaction_at(matrix_at.state) as one
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
    ),

    fed as (
        select
            feeding.schema,
            jsonb_agg(
                jsonb_build_object('entity', feeding.entity, 'entity_version', feeding.entity_version)
            ) as entities
        from (select distinct block.schema, block.entity, block.entity_version from block) as feeding
        group by feeding.schema
    )

    select '', matrix_at.state, null::text, null::int, null::text, null::text, '[]'
    union all
    select
        topics.topic, matrix_at.state, topics.schema, topics.version, topics.format, topics.payload,
        coalesce(fed.entities, '[]')::text
    from topics
    left join fed on topics.schema = fed.schema
    union all
    select
        topics.topic || ' ' || ref.kind || ' ' || ref.ref, matrix_at.state, topics.schema, ref.version,
        topics.format, topics.payload, coalesce(column_set.column_set, '[]')::text
    from ref
    inner join topics on ref.schema = topics.schema
    left join column_set on ref.schema = column_set.schema and ref.version = column_set.version
$$;
comment on function metl.matrix_at(bigint) is
'All that mapping needed to know in a state, as spark_jobs/mapper/matrix.sql says it of the current one: the state '
'itself (key ""), each topic, and each topic, kind and ref, with the column set of its version.';
