-- All that mapping needs, in one statement and so of one state, by key:
--   ''                      the state itself
--   'topic'                 how to read the topic, and every entity that it feeds
--   'topic kind ref'        the schema version behind this ref in messages of the topic, and its column set
-- No topic has a space in it.
with topics as materialized (
    select
        topics.topic,
        topics.schema,
        topics.format,
        topics.payload,
        topics.version
    from metl.topics
    -- Fails if the job is to stop or another instance has taken over.
    where metl.begin_batch('{job}', '{instance}')
),

column_sets as materialized (
    select
        dcpm.schema,
        dcpm.version,
        dcpm.refs,
        dcpm.column_set
    from metl_marts.dcpm
),

fed as (
    select
        blocks.schema,
        jsonb_agg(jsonb_build_object('entity', blocks.entity, 'entity_version', blocks.entity_version)) as entities
    from (
        select distinct
            column_sets.schema,
            block.value -> 'entity' as entity,
            block.value -> 'entity_version' as entity_version
        from column_sets
        cross join lateral jsonb_array_elements(column_sets.column_set) as block
    ) as blocks
    group by blocks.schema
)

select
    '' as key,
    metl.current_state() as state,
    null::text as schema,
    null::int as version,
    null::text as format,
    null::text as payload,
    '[]' as column_set
union all
select
    topics.topic,
    metl.current_state(),
    topics.schema,
    topics.version,
    topics.format,
    topics.payload,
    coalesce(fed.entities, '[]')::text
from topics
left join fed on topics.schema = fed.schema
union all
select
    topics.topic || ' ' || kind.key || ' ' || ref.value,
    metl.current_state(),
    topics.schema,
    column_sets.version,
    topics.format,
    topics.payload,
    column_sets.column_set::text
from column_sets
inner join topics on column_sets.schema = topics.schema
cross join lateral jsonb_each(column_sets.refs) as kind
cross join lateral jsonb_array_elements_text(kind.value) as ref
