create or replace function metl._refuse_violations(schemas int[], entities int[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _violation record;
begin
    if cardinality(schemas) = 0 then
        return;
    end if;
    select * into _violation from metl._invariant_violations(schemas, entities) limit 1;
    if found then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = format('Schema %L version %s to entity %L version %s: %s.', _violation.schema, _violation.version,
                             _violation.entity, _violation.entity_version, _violation.invariant),
            detail = coalesce(_violation.detail, ''),
            hint = 'Change blocks with metl.set_block, which keeps the matrix whole.';
    end if;
end $$;
comment on function metl._refuse_violations(int[], int[]) is
'An error if an invariant of the stored blocks does not hold.';
