create or replace function metl._guard_blocks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    perform metl._refuse_violations(
        array(select distinct touched.schema_id from touched), array(select distinct touched.entity_id from touched)
    );
    return null;
end $$;
comment on function metl._guard_blocks() is 'Lets no statement leave a broken block behind.';

create or replace function metl._guard_past_blocks() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (select from touched where touched.until is not null) then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = 'A block that has ended cannot be changed or deleted.',
            hint = 'Old states are read from it. Change blocks with metl.set_block.';
    end if;
    perform metl._refuse_violations(
        array(select distinct touched.schema_id from touched), array(select distinct touched.entity_id from touched)
    );
    return null;
end $$;
comment on function metl._guard_past_blocks() is 'Lets no statement rewrite the past, or leave a broken chain behind.';

create or replace function metl._refuse_truncate() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = 'integrity_constraint_violation',
        message = format('metl.%s cannot be truncated.', tg_table_name),
        hint = 'Old states are read from it. To begin anew: drop schema metl cascade, and install again.';
end $$;
comment on function metl._refuse_truncate() is 'Lets nobody empty the matrix and its past in one go.';

create or replace function metl._guard_cells() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if exists (
        select from touched inner join metl.block on touched.block_id = block.block_id where block.until is not null
    ) then
        raise exception using
            errcode = 'integrity_constraint_violation',
            message = 'The cells of a block that has ended cannot be changed.',
            hint = 'They are what old states are read from. Change blocks with metl.set_block.';
    end if;
    perform metl._refuse_violations(array_agg(distinct block.schema_id), array_agg(distinct block.entity_id))
    from touched inner join metl.block on touched.block_id = block.block_id
    having count(*) > 0;
    return null;
end $$;
comment on function metl._guard_cells() is 'Lets no statement leave a broken block behind, or rewrite the past.';

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
    select * into _violation from metl._violations(schemas, entities) limit 1;
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

-- An update is looked at twice: where it takes rows from and where it puts them.
create or replace trigger block_insert_is_guarded after insert on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_update_is_guarded after update on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_move_is_guarded after update on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
create or replace trigger block_delete_is_guarded after delete on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
create or replace trigger block_truncate_is_refused before truncate on metl.block
for each statement execute function metl._refuse_truncate();
create or replace trigger cell_truncate_is_refused before truncate on metl.cell
for each statement execute function metl._refuse_truncate();
create or replace trigger cell_insert_is_guarded after insert on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_update_is_guarded after update on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_move_is_guarded after update on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_delete_is_guarded after delete on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
