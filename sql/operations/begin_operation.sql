create or replace function metl.begin_operation(kind text, why text, about jsonb default '{}') returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    _operation bigint;
begin
    if why is null or why !~ '\S' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Nobody said why this %s is done.', coalesce(kind, 'operation')),
            hint = 'Give the reason, for those who will wonder.';
    end if;
    insert into metl.operation (kind, why, about) values (kind, why, about)
    returning operation.operation into _operation;
    return _operation;
end $$;
comment on function metl.begin_operation(text, text, jsonb) is
'Records the begin of an operation and its reason; kind is replay, give_up, reset, snapshot, reprocess, '
'initial_load, load, capture_remove or capture_restart. Returns its number.';
