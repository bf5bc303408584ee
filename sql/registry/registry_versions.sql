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

create or replace view metl.registry_readings as
select registry, nullif(registry_group, '') as registry_group, read_until, read_at
from metl.registry_reading;
comment on view metl.registry_readings is
'Up to which moment, by its own clock, each registry was read: all of it (group null) or one group.';

create or replace view metl.registry_work as
with waiting as (
    select plan.plan_id, plan.name as schema
    from metl.waiting_plan as plan
    where plan.kind = 'schema_version' and plan.decision is null
)

select
    found.registry, 'take' as task, found.entry, found.registry_group, found.artifact, found.registry_version,
    found.artifact_type, found.position, found.global_id, found.content_id, found.confluent_id,
    found.schema, found.problem
from metl.registry_version as found
where
    found.outcome = 'pending'
    and found.gone_at is null
    and found.schema not in (select waiting.schema from waiting)
union all
select
    gone.registry, 'end', gone.entry, gone.registry_group, gone.artifact, gone.registry_version,
    gone.artifact_type, gone.position, gone.global_id, gone.content_id, gone.confluent_id,
    gone.schema, gone.problem
from metl.registry_version as gone
where
    gone.gone_at is not null
    and gone.outcome <> 'ended'
    and (
        gone.outcome <> 'taken'
        or gone.plan_id in (select waiting.plan_id from waiting)
        -- What takes its place comes first, so that mappings are carried over to it.
        or (
            gone.schema not in (select waiting.schema from waiting)
            and not exists (
                select from metl.registry_version as successor
                where
                    -- What another registry has waits for a pass of that one, perhaps for ever.
                    successor.registry = gone.registry
                    and successor.schema = gone.schema
                    and successor.outcome = 'pending'
                    and successor.gone_at is null
            )
        )
    );
comment on view metl.registry_work is
'What is to be done for metl.take_registry_version and metl.end_registry_version, by position.';
