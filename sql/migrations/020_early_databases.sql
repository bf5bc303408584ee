-- Migrations 5 and 10 got these columns after the first databases had applied them.
alter table metl.notice add column if not exists plan_id bigint constraint notice_of_plan references metl.waiting_plan;
update metl.notice set plan_id = plan.plan_id
from (
    select
        waiting_plan.plan_id, waiting_plan.kind, waiting_plan.name, waiting_plan.version, waiting_plan.created_at,
        lead(waiting_plan.created_at) over (
            partition by waiting_plan.kind, waiting_plan.name, waiting_plan.version order by waiting_plan.plan_id
        ) as superseded_at
    from metl.waiting_plan
) as plan
where
    notice.kind = 'waiting'
    and notice.plan_id is null
    and notice.created_at >= plan.created_at
    and (notice.created_at < plan.superseded_at or plan.superseded_at is null)
    and case plan.kind
        when 'schema_version' then (notice.schema, notice.version) = (plan.name, plan.version)
        else (notice.entity, notice.entity_version) = (plan.name, plan.version)
    end;
alter table metl.waiting_plan add column if not exists lost jsonb;
update metl.waiting_plan set lost = coalesce((
    select jsonb_agg(
        jsonb_build_object('schema', notice.schema, 'version', notice.version, 'entity', notice.entity) || cell.value
    )
    from metl.notice
    cross join jsonb_array_elements(notice.lost) as cell
    where notice.plan_id = waiting_plan.plan_id
), '[]')
where waiting_plan.lost is null;
alter table metl.waiting_plan alter column lost set not null;
alter table metl.registry_reading add column if not exists read_at timestamptz not null default now();
alter table metl.registry_reading alter column read_at drop default;

-- These return other columns than in earlier releases.
drop function if exists metl._match_attributes(
    text, metl._given_attribute[], metl._known_attribute[], metl._known_attribute[]
);
drop function if exists metl._match_entity_attributes(text, int, metl._given_attribute[]);
drop function if exists metl._match_schema_attributes(text, int, metl._given_attribute[]);

-- Before the first release, the columns of two views were in another order for a while.
do $$
begin
    if exists (
        select from pg_attribute
        where attrelid = to_regclass('metl.plans') and attname = 'description' and attnum = 13
    ) then
        drop view metl.plans;
    end if;
    if exists (
        select from pg_attribute
        where attrelid = to_regclass('metl.dead_letters') and attname = 'operation' and attnum = 18
    ) then
        drop view metl.dead_letters;
    end if;
end $$;

alter view if exists metl._held rename to _advisory_locks;
alter view if exists metl._due rename to _due_letters;
