create or replace function metl.matrix_at(state bigint)
returns table (key text, state bigint, schema text, version int, format text, payload text, column_set text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with topics as materialized (
        select * from metl._topics_at(matrix_at.state)
    ),

    ref as materialized (
        select * from metl._column_sets_at(matrix_at.state)
    ),

    fed as (
        select
            feeding.schema,
            jsonb_agg(
                jsonb_build_object('entity', feeding.entity, 'entity_version', feeding.entity_version)
            ) as entities
        from (
            select distinct
                ref.schema, block.value -> 'entity' as entity, block.value -> 'entity_version' as entity_version
            from ref
            cross join lateral jsonb_array_elements(ref.column_set) as block
            where ref.kind = 'version'
        ) as feeding
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
        topics.format, topics.payload, ref.column_set::text
    from ref
    inner join topics on ref.schema = topics.schema
$$;
comment on function metl.matrix_at(bigint) is
'What mapping needs in a state, as spark_jobs/metl_spark/mapping/matrix.sql has it for the current one: the state '
'itself (key ""), each topic, and each topic, kind and ref, with the column set of its version.';
