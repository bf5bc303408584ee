create or replace function metl._assign_schema_version(found metl.registry_version) returns int
language sql stable
as $$
    with wanted as (
        select case when found.registry_version ~ '^[1-9][0-9]{0,8}$' then found.registry_version::int end as number
    ),
    used as (
        select v.version, v.deleted is not null as is_over
        from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = found.schema
        union all
        select known.version, true from metl.registry_version as known
        where known.schema = found.schema and known.entry <> found.entry
        union all
        select plan.version, true from metl.waiting_plan as plan
        where plan.kind = 'schema_version' and plan.name = found.schema and plan.decision is null
    ),
    -- Numbers ascend as the versions of the artifact do.
    around as (
        select
            max(known.version) filter (where known.position < found.position) as below,
            min(known.version) filter (where known.position > found.position) as above
        from metl.registry_version as known
        where
            known.schema = found.schema
            and known.registry = found.registry
            and known.registry_group = found.registry_group
            and known.artifact = found.artifact
            and known.gone_at is null
    )
    select case
        when
            wanted.number > coalesce(around.below, 0)
            and wanted.number < coalesce(around.above, wanted.number + 1)
            -- One that was registered by hand may be this very version.
            and not exists (select from used where used.version = wanted.number and used.is_over)
            then wanted.number
        else 1 + coalesce((select max(used.version) from used), 0)
    end
    from wanted cross join around
$$;
comment on function metl._assign_schema_version(metl.registry_version) is
'Which version of its schema a version of a registry is to be: its own number where that is free and in order, '
'else the next one.';
