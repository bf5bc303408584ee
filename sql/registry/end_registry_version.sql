create or replace function metl.end_registry_version(entry bigint) returns setof metl.registry_event
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    _found metl.registry_version;
    _is_live boolean;
    _state bigint;
    _cells metl._cell_fate[];
begin
    perform metl._lock();
    _found := metl._require_registry_version(entry);
    if _found.gone_at is null or _found.outcome = 'ended' then
        return;
    end if;
    select plan.plan_id into _found.plan_id from metl.waiting_plan as plan
    where plan.plan_id = _found.plan_id and plan.decision is null;
    if found then
        perform metl._decide_plan(_found.plan_id, 'rejected');
    end if;
    _is_live := _found.outcome = 'taken' and exists (
        select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = _found.schema and v.version = _found.version and v.deleted is null
    );
    if _is_live then
        _cells := array(select cell from metl._plan_schema_version_end(_found.schema, _found.version) as cell);
        _state := metl.delete_schema_version(_found.schema, _found.version);
        -- The cells of the last version of a schema are carried over to none: a notice lists them.
        insert into metl.notice (state, kind, schema, version, entity, entity_version, lost)
        select _state, 'vanished', block.schema, block.version, block.entity, block.entity_version, block.lost
        from metl._lost_by_block(_cells, array['deleted']) as block
        where not exists (
            select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
            where s.name = _found.schema and v.deleted is null
        );
    end if;
    _found.problem := null;
    perform metl._update_registry_notice(_found);
    update metl.registry_version as known set outcome = 'ended' where known.entry = _found.entry;
    if _is_live or _found.plan_id is not null then
        return query select event.* from metl._make_registry_event('deleted', _found, _state) as event;
    end if;
end $$;
comment on function metl.end_registry_version(bigint) is
'Deletes the schema version that an entry of metl.registry_work became, or the plan as which it waits, '
'since it is gone from the registry. The cells of a last version are kept in notices. Returns what was done.';
