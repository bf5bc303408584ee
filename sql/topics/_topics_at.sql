create or replace function metl._topics_at(state bigint)
returns table (topic text, schema text, format text, payload text, version int)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    -- As metl.topics, which has the current state and is faster.
    with rule as materialized (
        select
            topic_rule.*,
            replace(replace(topic_rule.pattern, '_', '\_'), '*', '%') as likeness
        from metl.topic_rule
        where
            topic_rule.since <= _topics_at.state
            and (topic_rule.until > _topics_at.state or topic_rule.until is null)
    ),

    live as materialized (
        select schema_version.schema_id, schema_version.version
        from metl.schema_version
        where
            schema_version.added <= _topics_at.state
            and (schema_version.deleted > _topics_at.state or schema_version.deleted is null)
    ),

    topic as (
        select schema.name as topic, schema.schema_id
        from metl.schema
        where
            schema.name ~ '^[A-Za-z0-9._-]+$'
            and length(schema.name) <= 249
            and schema.name not in ('.', '..')
            and schema.name not in (select rule.pattern from rule where rule.schema_id is not null)
        union all
        select rule.pattern, rule.schema_id from rule where rule.schema_id is not null
    )

    select
        topic.topic,
        schema.name,
        coalesce(best.format, 'ext_json'),
        coalesce(best.payload, 'debezium'),
        case
            when best.format = 'plain' then
                case when best.version is null then newest.version else chosen.version end
        end
    from topic
    inner join (
        select live.schema_id, max(live.version) as version from live group by live.schema_id
    ) as newest on topic.schema_id = newest.schema_id
    inner join metl.schema on topic.schema_id = schema.schema_id
    left join lateral (
        select rule.format, rule.payload, rule.version
        from rule
        where topic.topic like rule.likeness
        order by rule.pattern = topic.topic desc, length(rule.pattern) desc, rule.pattern collate "C"
        limit 1
    ) as best on true
    left join live as chosen on topic.schema_id = chosen.schema_id and best.version = chosen.version
$$;
comment on function metl._topics_at(bigint) is 'How topics were read in a state.';
