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
comment on function metl._guard_cells() is
'Refuses statements that change cells of ended blocks or break an invariant of the stored blocks.';

create or replace trigger cell_insert_is_guarded after insert on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_update_is_guarded after update on metl.cell
referencing new table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_move_is_guarded after update on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
create or replace trigger cell_delete_is_guarded after delete on metl.cell
referencing old table as touched for each statement execute function metl._guard_cells();
