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
comment on function metl._guard_blocks() is 'Refuses statements that break an invariant of the stored blocks.';

create or replace trigger block_insert_is_guarded after insert on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
create or replace trigger block_update_is_guarded after update on metl.block
referencing new table as touched for each statement execute function metl._guard_blocks();
