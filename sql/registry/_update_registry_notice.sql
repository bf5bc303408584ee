create or replace function metl._update_registry_notice(found metl.registry_version) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Earlier notices of this version are confirmed, or replaced.
    update metl.notice set confirmed_at = clock_timestamp(), confirmed_by = session_user
    where
        notice.kind in ('unreadable', 'conflict')
        and notice.schema = found.schema
        and notice.confirmed_at is null
        and case
            when notice.version = found.version
                then found.problem is null or (notice.kind = 'conflict') <> (found.outcome = 'conflict')
            -- Without a number: of an artifact that another one of the same name keeps out.
            when notice.version is null then not exists (
                select from metl.registry_version as known
                where
                    known.schema = found.schema
                    and known.outcome = 'conflict'
                    and known.version is null
                    and known.gone_at is null
            )
        end;
    insert into metl.notice (state, kind, schema, version, lost)
    select
        metl.current_state(), case found.outcome when 'conflict' then 'conflict' else 'unreadable' end,
        found.schema, found.version, '[]'
    where
        found.problem is not null
        and not exists (
            select from metl.notice
            where
                notice.kind in ('unreadable', 'conflict')
                and notice.schema = found.schema
                and notice.version is not distinct from found.version
                and notice.confirmed_at is null
        );
end $$;
comment on function metl._update_registry_notice(metl.registry_version) is
'Leaves one notice of a version of a registry that has a problem; confirms it when the problem is gone.';
