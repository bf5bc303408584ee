create or replace function metl._parse_refs(schema text, version int, refs jsonb)
returns table (kind text, ref text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _what constant text := format('refs of schema %L version %s', schema, version);
    _wrong record;
begin
    if jsonb_typeof(refs) is distinct from 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The %s must be an object, but they are: %s', _what, coalesce(left(refs::text, 60), 'null')),
            hint = 'Give {"global_id": 17}, or {"content_id": [3, 8], "fingerprint": "…"}.';
    end if;
    -- Ids are whole numbers as the wire has them, the others any text.
    for _wrong in
        select given.kind, given.ref, given.kind like '%\_id' as is_id
        from metl._unnest_refs(refs) as given
        where
            given.kind not in ('global_id', 'content_id', 'confluent_id', 'confluent_guid', 'fingerprint')
            or given.ref is null
            or (given.kind like '%\_id' and given.ref !~ '^(0|[1-9][0-9]{0,18})$')
            or given.ref !~ '\S'
            or length(given.ref) > 200
        limit 1
    loop
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'The %s cannot have %I %s.', _what, _wrong.kind, coalesce(quote_literal(left(_wrong.ref, 60)), 'null')
            ),
            hint = 'global_id, content_id and confluent_id take whole numbers, '
                'confluent_guid and fingerprint text of up to 200 characters.';
    end loop;
    return query select distinct given.kind, given.ref from metl._unnest_refs(refs) as given;
end $$;
comment on function metl._parse_refs(text, int, jsonb) is
'The given refs, one row each; an error if one is malformed.';
