create or replace function metl.end_operation(operation bigint, outcome jsonb default '{}') returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    update metl.operation set ended_at = clock_timestamp(), outcome = end_operation.outcome
    where operation.operation = end_operation.operation and operation.who = session_user and operation.ended_at is null;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format(
                'There is no operation %s that %s began and did not end.',
                coalesce(end_operation.operation::text, 'null'), session_user
            ),
            hint = 'metl.operations lists what was begun.';
    end if;
end $$;
comment on function metl.end_operation(bigint, jsonb) is 'Records the outcome of an operation that the caller began.';
