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
comment on function metl._refuse_truncate() is 'Refuses to truncate the matrix and its history.';

create or replace trigger block_truncate_is_refused before truncate on metl.block
for each statement execute function metl._refuse_truncate();
create or replace trigger cell_truncate_is_refused before truncate on metl.cell
for each statement execute function metl._refuse_truncate();
