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
    where metl._policy(edited.schema_id, edited.entity_id) = 'freeze'
    limit 1;
    if found then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('The mapping of schema %L to entity %L is frozen.', _frozen.schema, _frozen.entity),
            hint = format('Set another policy first: select metl.set_policy(%L, %L, ''auto'') (`metl policy set`).',
                          _frozen.schema, _frozen.entity);
    end if;
end $$;
comment on function metl._refuse_frozen(metl._block_content[]) is 'Refuses edits of blocks that are frozen.';

create or replace function metl._remark(plan metl._cell_fate[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _shown constant int := 5;
    _risky text[] := array(
        select format('%s.%s → %s.%s (%s)', cell.schema, cell.attribute, cell.entity, cell.entity_attribute, cell.reason)
        from unnest(plan) as cell
        where cell.fate = 'gained' and cell.reason is not null
        group by 1
        order by 1
    );
begin
    if cardinality(_risky) > 0 then
        raise notice using
            message = format('Values of other types: %s%s.', array_to_string(_risky[:_shown], ', '), case
                when cardinality(_risky) > _shown then format(' and %s more', cardinality(_risky) - _shown) else ''
            end),
            hint = 'What does not fit is refused, never altered: warehouse._rejected has it.';
    end if;
end $$;
comment on function metl._remark(metl._cell_fate[]) is
'Says which new cells have types that differ so that values may be refused.';

create or replace function metl._edit(cause text, summary jsonb, changes metl._block_content[]) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _plan metl._cell_fate[];
    _state bigint;
begin
    perform metl._refuse_frozen(changes);
    _plan := array(select planned from metl._block_plan(changes) as planned);
    _state := metl._advance(_edit.cause, metl._summary(null, null, null, null, _plan) || _edit.summary);
    perform metl._store(_state, changes);
    perform metl._tell(_state, _plan, is_known => true);
    perform metl._remark(_plan);
    return _state;
end $$;
comment on function metl._edit(text, jsonb, metl._block_content[]) is 'Sets blocks by hand, as one state.';
