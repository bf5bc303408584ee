create or replace function metl.give_up_letters(letters bigint[], why text, purge boolean default false) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _operation bigint := metl.begin_operation('give_up', why, jsonb_build_object('purge', purge));
    _count bigint;
begin
    update metl.dead_letter set
        status = 'given_up',
        operation = _operation,
        key = case when not purge then key end,
        value = case when not purge then value end,
        headers = case when not purge then headers end
    where dead_letter.letter = any(letters);
    get diagnostics _count = row_count;
    perform metl.end_operation(_operation, jsonb_build_object('letters', _count));
    return _count;
end $$;
comment on function metl.give_up_letters(bigint[], text, boolean) is
'Marks dead letters as given up, and why; with purge, their payload is deleted, but never their row. Returns how '
'many there were.';
