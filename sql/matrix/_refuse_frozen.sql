create or replace function metl._refuse_frozen(changes metl._block_content[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _frozen record;
begin
    select s.name as schema, e.name as entity into _frozen
    from (select distinct change.schema_id, change.entity_id from unnest(changes) as change) as edited
    inner join metl.schema as s on s.schema_id = edited.schema_id
    inner join metl.entity as e on e.entity_id = edited.entity_id
    where metl._effective_policy(edited.schema_id, edited.entity_id) = 'freeze'
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen.schema, _frozen.entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl plans policy set`).',
                          _frozen.schema, _frozen.entity);
    end if;
end $$;
comment on function metl._refuse_frozen(metl._block_content[]) is 'Refuses edits of blocks that are frozen.';
