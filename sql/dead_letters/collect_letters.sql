create or replace function metl.collect_letters(
    topic text, letters jsonb, positions jsonb
) returns table (came bigint, is_new bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if exists (select from jsonb_array_elements(letters) as letter where not letter ? 'error_headers') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'A dead letter has no error_headers: its collector is older than this database.',
            hint = 'Stop it, and start the one of this release: metl dead-letters collect --watch';
    end if;
    insert into metl.dead_position as known (topic, partition, next_offset)
    select collect_letters.topic, position.key::int, position.value::bigint
    from jsonb_each_text(collect_letters.positions) as position
    on conflict on constraint dead_position_pk do update set
        next_offset = excluded.next_offset, at = excluded.at;
    return query
    with given as (
        select letter.*, count(*) over same_message as times, row_number() over same_message as place
        from metl._parse_dead_letters(collect_letters.topic, letters) as letter
        window same_message as (
            partition by letter.topic, letter.partition, letter.message_offset, letter.content
            order by letter.number desc
            rows between unbounded preceding and unbounded following
        )
    ), stored as (
        insert into metl.dead_letter as known (
            topic, partition, message_offset, content, reason, schema, version, ref, state, job,
            message_at, first_at, last_at, times, replays, key, value, headers
        )
        select
            given.topic, given.partition, given.message_offset, given.content, given.reason, given.schema,
            given.version, given.ref, given.state, given.job, given.message_at, given.at, given.at, given.times,
            given.replays, given.key, given.value, given.headers
        from given
        where given.place = 1
        order by given.number
        on conflict on constraint dead_letter_is_one_message do update set
            reason = excluded.reason,
            schema = excluded.schema,
            version = excluded.version,
            ref = excluded.ref,
            state = excluded.state,
            job = excluded.job,
            last_at = excluded.last_at,
            times = known.times + excluded.times,
            replays = greatest(known.replays, excluded.replays),
            -- What a mapper sent twice after a crash is no answer to what was sent again since.
            status = case
                when
                    known.status = 'sent'
                    and (excluded.replays >= known.replays or excluded.last_at > known.sent_at)
                    then 'dead'
                else known.status
            end
        -- Zero in a row that was only inserted.
        returning known.xmax = 0 as is_first
    )
    select
        jsonb_array_length(collect_letters.letters)::bigint,
        count(*) filter (where stored.is_first)
    from stored;
end $$;
comment on function metl.collect_letters(text, jsonb, jsonb) is
'Stores dead letters of a topic and the offsets up to which it is read, in one transaction: letters as an array of '
'{partition, offset, at, key, value, headers, error_headers}, payloads in base64, error_headers being those that '
'METL and Connect wrote; positions as {"partition": next offset}. A message that fails again is the same dead letter, '
'with its newest reason. Returns how many were collected and how many were new.';
