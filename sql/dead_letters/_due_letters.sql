create or replace view metl._due_letters as
with topic as materialized (
    select
        topics.topic,
        topics.schema,
        topics.version,
        schema.schema_id,
        (
            select coalesce(max(greatest(rule.since, rule.until)), 0)
            from metl.topic_rule as rule
            where topics.topic like replace(replace(rule.pattern, '_', '\_'), '*', '%')
        ) as read_so_since,
        (
            select min(live.added) from metl.schema_version as live
            where live.schema_id = schema.schema_id and live.deleted is null
        ) as there_since
    from metl.topics
    inner join metl.schema on topics.schema = schema.name
)

select
    dead_letter.letter,
    dead_letter.topic,
    dead_letter.ref,
    dead_letter.replays,
    known.needed
from metl.dead_letter
inner join topic on dead_letter.topic = topic.topic
cross join lateral (
    select min(way.needed) as needed
    from (
        select schema_ref.since as needed
        from metl.schema_ref
        where
            schema_ref.schema_id = topic.schema_id
            and schema_ref.until is null
            and schema_ref.kind || ' ' || schema_ref.ref = dead_letter.ref
        union all
        -- The topic was unknown, so that no ref could be read from its messages.
        select greatest(topic.there_since, topic.read_so_since) where dead_letter.schema is null
        union all
        select topic.read_so_since
        union all
        select greatest(version.added, topic.read_so_since)
        from metl.schema_version as version
        where version.schema_id = topic.schema_id and version.version = topic.version
    ) as way
    -- A version that was known when the message failed does not help.
    where way.needed > dead_letter.state
) as known
where dead_letter.status = 'dead' and dead_letter.reason = 'unknown_version' and known.needed is not null;
comment on view metl._due_letters is
'Dead letters of an unknown version that a newer state may know, and which state that is.';
