create or replace function metl._message_versions_at(state bigint, topic text, schema text, is_plain boolean)
returns table (ref text, version int, column_set jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case when is_plain then '' else known.kind || ' ' || known.ref end, known.version, known.column_set
    from metl._column_sets_at(_message_versions_at.state, _message_versions_at.schema) as known
    -- Messages that name no version are of the one configured for their topic.
    where (known.kind = 'version') = is_plain and (not is_plain or known.version = (
        select then_read.version from metl._topics_at(_message_versions_at.state) as then_read
        where then_read.topic = _message_versions_at.topic
    ))
$$;
comment on function metl._message_versions_at(bigint, text, text, boolean) is
'The versions that messages of a topic could name in a state, with their column sets.';
