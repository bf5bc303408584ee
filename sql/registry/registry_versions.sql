create or replace view metl.registry_versions as
select
    found.registry,
    found.registry_group,
    found.artifact,
    found.registry_version,
    found.artifact_type,
    found.global_id,
    found.content_id,
    found.confluent_id,
    found.registry_state,
    found.schema,
    found.version,
    case
        when found.gone_at is not null then 'gone'
        when found.outcome <> 'taken' then found.outcome
        when plan.plan_id is not null and plan.decision is null then 'waiting'
        when plan.decision = 'rejected' then 'rejected'
        when live.deleted is not null then 'deleted'
        else 'registered'
    end as outcome,
    case
        when found.outcome = 'pending' and found.gone_at is null then (
            select min(ahead.plan_id) from metl.waiting_plan as ahead
            where ahead.kind = 'schema_version' and ahead.name = found.schema and ahead.decision is null
        )
        else found.plan_id
    end as plan_id,
    found.problem,
    found.created_on,
    found.modified_on,
    found.seen_at,
    found.gone_at,
    found.entry
from metl.registry_version as found
left join metl.waiting_plan as plan on found.plan_id = plan.plan_id
left join metl.schema on found.schema = schema.name
left join metl.schema_version as live on schema.schema_id = live.schema_id and found.version = live.version;
comment on view metl.registry_versions is
'Every version that was seen in a registry, and what became of it: the version of the schema, or why there is none.';
