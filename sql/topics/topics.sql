create or replace view metl.topics as
with rule as materialized (
    select
        topic_rule.*,
        -- Of the characters that topics may have, only _ means something else to "like".
        replace(replace(topic_rule.pattern, '_', '\_'), '*', '%') as likeness
    from metl.topic_rule
    where topic_rule.until is null
),

topic as (
    select schema.name as topic, schema.schema_id
    from metl.schema
    where
        -- The length apart: counting while matching would take most of the time.
        schema.name ~ '^[A-Za-z0-9._-]+$'
        and length(schema.name) <= 249
        and schema.name not in ('.', '..')
        and schema.name not in (select rule.pattern from rule where rule.schema_id is not null)
    union all
    select rule.pattern, rule.schema_id from rule where rule.schema_id is not null
),

live as (
    select schema_version.schema_id, max(schema_version.version) as newest
    from metl.schema_version
    where schema_version.deleted is null
    group by schema_version.schema_id
)

select
    topic.topic,
    schema.name as schema,
    coalesce(best.format, 'ext_json') as format,
    coalesce(best.payload, 'debezium') as payload,
    case when best.format = 'plain' then case when best.version is null then live.newest else chosen.version end end
        as version
from topic
inner join live on topic.schema_id = live.schema_id
inner join metl.schema on topic.schema_id = schema.schema_id
left join lateral (
    select rule.format, rule.payload, rule.version
    from rule
    where topic.topic like rule.likeness
    order by rule.pattern = topic.topic desc, length(rule.pattern) desc, rule.pattern collate "C"
    limit 1
) as best on true
left join metl.schema_version as chosen
    on topic.schema_id = chosen.schema_id and best.version = chosen.version and chosen.deleted is null;
comment on view metl.topics is
'Every topic whose messages can be mapped and how it is read; without a rule, as ext_json with debezium envelopes.';
