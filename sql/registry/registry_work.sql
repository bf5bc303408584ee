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
'The versions to pass to metl.take_registry_version and metl.end_registry_version, by position.';
