create or replace function metl._progress_problem(progress jsonb) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case when jsonb_typeof(progress) is distinct from 'object' then
        format('its progress must be an object, but it is %s', coalesce(left(progress::text, 60), 'null'))
    else (
        select wrong.text
        from (
            select format('%I is missing', needed.key) as text
            from unnest(
                array['state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered']
            ) as needed (key)
            where progress ->> needed.key is null
            union all
            select format('nobody knows %I', given.key)
            from jsonb_object_keys(progress) as given (key)
            where given.key not in (
                'state', 'began_at', 'ended_at', 'rows_in', 'rows_out', 'rows_filtered',
                'dead', 'latency_ms', 'matrix_rows', 'matrix_bytes', 'lag', 'behind_ms', 'positions'
            )
            union all
            select format('%I must be an object, but it is %s', given.key, left(given.value::text, 60))
            from jsonb_each(progress) as given
            where
                given.key in ('dead', 'latency_ms', 'positions')
                and jsonb_typeof(given.value) not in ('object', 'null')
            union all
            select format('%L cannot be %s dead letters', left(dead.key, 60), left(dead.value::text, 60))
            from jsonb_each(case jsonb_typeof(progress -> 'dead') when 'object' then progress -> 'dead' end) as dead
            where jsonb_typeof(dead.value) <> 'number' or dead.value::text !~ '^[0-9]{1,18}$'
        ) as wrong
        limit 1
    ) end
$$;
comment on function metl._progress_problem(jsonb) is 'What is wrong with the shape of a progress; null if nothing is.';
