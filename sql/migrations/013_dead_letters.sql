-- Operations on the streams, by hand or by METL itself, and why. They belong to no state.
create table metl.operation (
    operation bigint generated always as identity constraint operation_pk primary key,
    kind text not null constraint operation_kind check (
        kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess')
    ),
    who text not null default session_user,
    why text not null constraint operation_says_why check (why ~ '\S'),
    about jsonb not null default '{}' constraint operation_about_is_an_object check (jsonb_typeof(about) = 'object'),
    began_at timestamptz not null default clock_timestamp(),
    ended_at timestamptz,
    outcome jsonb
);

-- One row for each message that could not be mapped, however often it came back. Rows are never deleted.
create table metl.dead_letter (
    letter bigint generated always as identity constraint dead_letter_pk primary key,
    topic text not null,
    partition int not null,
    message_offset bigint not null,
    -- A hash of key and value: a topic that is recreated counts its offsets anew.
    content bytea not null,
    reason text not null,
    schema text,
    version text,
    ref text,
    state bigint,
    job text,
    message_at timestamptz,
    first_at timestamptz not null,
    last_at timestamptz not null,
    times bigint not null default 1,
    replays int not null default 0,
    status text not null default 'dead' constraint dead_letter_status check (status in ('dead', 'sent', 'given_up')),
    sent_at timestamptz,
    operation bigint constraint dead_letter_last_done_by references metl.operation,
    key bytea,
    value bytea,
    headers jsonb,
    constraint dead_letter_is_one_message unique (topic, partition, message_offset, content)
);
create index dead_letter_by_status on metl.dead_letter (status, reason, topic);

create table metl.dead_position (
    topic text,
    partition int,
    next_offset bigint not null,
    at timestamptz not null default clock_timestamp(),
    constraint dead_position_pk primary key (topic, partition)
);
