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
comment on function metl._guard_past_blocks() is
'Refuses statements that change ended blocks or break an invariant of the stored blocks.';

create or replace trigger block_move_is_guarded after update on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
create or replace trigger block_delete_is_guarded after delete on metl.block
referencing old table as touched for each statement execute function metl._guard_past_blocks();
