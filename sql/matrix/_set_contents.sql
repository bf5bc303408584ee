create or replace function metl._set_contents(state bigint, changes metl._block_content[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if cardinality(changes) = 0 then
        return;
    end if;
    -- A block is stored where it differs from that of the live version before. Changed blocks can
    -- only alter that for themselves and for the live version after each of them.
    perform metl._write_blocks(_set_contents.state, array(
        with change as (
            select * from unnest(_set_contents.changes)
        ),
        touched as (
            select change.schema_id, change.version, change.entity_id, change.entity_version from change
            union
            select change.schema_id, following.version, change.entity_id, change.entity_version
            from change
            cross join lateral metl._live_version_after(change.schema_id, change.version) as following (version)
            where following.version is not null
        ),
        compared as (
            select
                touched.*,
                coalesce(
                    change.content,
                    metl._effective_content(touched.schema_id, touched.version, touched.entity_id, touched.entity_version)
                ) as content,
                coalesce(
                    change_before.content,
                    metl._effective_content(touched.schema_id, before.version, touched.entity_id, touched.entity_version)
                ) as content_before,
                live.version is not null as is_live
            from touched
            left join change
                on (touched.schema_id, touched.version, touched.entity_id, touched.entity_version)
                = (change.schema_id, change.version, change.entity_id, change.entity_version)
            left join lateral metl._live_version_before(touched.schema_id, touched.version) as before (version) on true
            left join change as change_before
                on (touched.schema_id, before.version, touched.entity_id, touched.entity_version)
                = (change_before.schema_id, change_before.version, change_before.entity_id, change_before.entity_version)
            left join metl.schema_version as live
                on (touched.schema_id, touched.version) = (live.schema_id, live.version) and live.deleted is null
        )
        select (
            compared.schema_id, compared.version, compared.entity_id, compared.entity_version,
            case when compared.is_live and compared.content <> compared.content_before then compared.content end
        )::metl._block_content
        from compared
    ));
end $$;
comment on function metl._set_contents(bigint, metl._block_content[]) is
'Gives blocks new contents and keeps the DUSB minimal around them; null content means that the version is gone.';
