-- The columns that are not the entity's own.
create or replace function metl._system_columns() returns table (name text, type text, description text)
language sql immutable
as $$
    values
    ('_source', 'text', 'Topic that the row comes from: rows of two sources are never the same.'),
    ('_key', 'jsonb', 'Key of the row at its source; of a record without a key its position.'),
    ('_partition', 'integer', 'Partition of the last message about the row; -1 for a row that came by SQL, or whose position was forgotten.'),
    ('_offset', 'bigint', 'Offset of that message, by which newer is told from older; by SQL, its time.'),
    ('_at', 'bigint', 'ts_ms of that message, or when the row was read.'),
    ('_deleted', 'boolean', 'Whether the row is gone at its source: then it has no values.'),
    ('_state', 'bigint', 'State under which that message was mapped.'),
    ('_schema', 'text', 'Schema of that message.'),
    ('_version', 'integer', 'Version of that schema.'),
    ('_kept', 'jsonb', 'Columns that this message did not bring, each with offset and state of the one its value is from, or -1 and the time.')
$$;
comment on function metl._system_columns() is
'The columns that every table of the warehouse has beside the attributes.';
