create or replace function metl._warn_of_casts(plan metl._cell_fate[]) returns void
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
comment on function metl._warn_of_casts(metl._cell_fate[]) is
'Raises a notice of new cells whose types differ so that values may be refused.';
