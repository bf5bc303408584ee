create or replace function metl.clear_columns(entity text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _entity_id int := metl._require_entity(entity);
begin
    if not exists (select from metl.warehouse_table as made where made.entity_id = _entity_id) then
        return 0;
    end if;
    perform pg_advisory_xact_lock(hashtextextended('metl warehouse ' || entity, 0));
    perform metl._ensure_entity_table(entity);
    return metl._clear_next_pages(_entity_id);
end $$;
comment on function metl.clear_columns(text) is
'Clears a part of the values that rows of an entity still have in columns of policy clear that nothing feeds; '
'how many pages of its table are left. Each call is small, so that other work goes on; merges do the same.';
