create or replace view metl.waiting_versions as
with plan as (
    select plan_id, name, version, refs, decision
    from metl.waiting_plan
    where kind = 'schema_version' and (decision is null or decision = 'rejected')
),

waiting as (
    select
        plan.plan_id, plan.name as schema, plan.version, false as is_behind,
        rejected.registry, rejected.registry_group, rejected.artifact, rejected.registry_version, rejected.entry,
        array(
            select by_kind.key || ' ' || ref.value
            from jsonb_each(plan.refs) as by_kind
            cross join lateral jsonb_array_elements_text(
                case jsonb_typeof(by_kind.value)
                    when 'array' then by_kind.value else jsonb_build_array(by_kind.value)
                end
            ) as ref
        ) as refs,
        plan.decision is not null as is_rejected
    from plan
    -- Until it is taken up again: then its entry has another plan, or none.
    left join metl.registry_version as rejected
        on
            plan.decision is not null
            and plan.plan_id = rejected.plan_id
            and rejected.outcome = 'taken'
            and rejected.gone_at is null
    where plan.decision is null or rejected.entry is not null
    union all
    select
        ahead.plan_id, found.schema, found.version, true,
        found.registry, found.registry_group, found.artifact, found.registry_version, found.entry,
        array[
            'global_id ' || found.global_id, 'content_id ' || found.content_id, 'confluent_id ' || found.confluent_id
        ],
        false
    from metl.registry_version as found
    cross join lateral (
        select min(plan.plan_id) as plan_id
        from plan where plan.name = found.schema and plan.decision is null
    ) as ahead
    where found.outcome = 'pending' and found.gone_at is null and ahead.plan_id is not null
)

select
    waiting.plan_id,
    waiting.schema,
    waiting.version,
    waiting.is_behind,
    waiting.registry,
    waiting.registry_group,
    waiting.artifact,
    waiting.registry_version,
    waiting.entry,
    (
        select count(*) from metl.dead_letter
        where
            dead_letter.status = 'dead'
            and dead_letter.reason = 'unknown_version'
            and dead_letter.topic in (select topics.topic from metl.topics where topics.schema = waiting.schema)
            and dead_letter.ref = any(waiting.refs)
    ) as letters,
    waiting.is_rejected
from waiting;
comment on view metl.waiting_versions is
'Every schema version that waits, as a plan or in a registry behind one, or was rejected, with its dead letters.';
