create or replace function metl.open_warehouse(job text) returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _staged constant text := metl._staging_table(job);
begin
    perform metl._require_job(job);
    if to_regclass(format('warehouse.%I', _staged)) is null then
        perform pg_advisory_xact_lock(hashtextextended('metl warehouse', 0));
        -- All as text: what does not fit is found when it is merged.
        execute format(
            'create unlogged table if not exists warehouse.%I (
                id bigint generated always as identity, entity text, source text, key text, partition text,
                "offset" text, at text, op text, after text, unavailable text, state text, schema text, version text,
                round int not null default 1
            ) with (autovacuum_enabled = off)', _staged
        );
        execute format('comment on table warehouse.%I is %L', _staged, format('A batch of job %s.', job));
        execute format('grant insert on warehouse.%I to metl_job', _staged);
    end if;
    execute format('drop index if exists warehouse.%I', _staged || '_by_entity');
    execute format('truncate warehouse.%I restart identity', _staged);
    return _staged;
end $$;
comment on function metl.open_warehouse(text) is
'Makes room for a batch of a job: an empty table in schema warehouse, whose name it returns, to copy records into. '
'metl.staged_entities and metl.merge_warehouse take them from there.';
