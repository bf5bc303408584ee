create or replace function metl.send_due_letters(
    of_topic text, state bigint, operation bigint, most int default 5, batch int default 500
)
returns table (
    letter bigint, topic text, partition int, message_offset bigint, message_at timestamptz, replays int,
    key bytea, value bytea, headers jsonb
)
language sql security definer
set search_path = pg_catalog, pg_temp
as $$
    select * from metl._claim_letters(
        array(
            select due.letter from metl._due_letters as due
            where
                due.topic = send_due_letters.of_topic
                and due.needed <= send_due_letters.state
                and due.replays < send_due_letters.most
            order by due.letter
            limit send_due_letters.batch
        ),
        operation, most
    )
$$;
comment on function metl.send_due_letters(text, bigint, bigint, int, int) is
'As metl.send_letters, for up to batch dead letters of a topic whose version is known in a state (metl.due_letters): '
'jobs replay them by themselves.';
