-- What somebody did to the streams by hand, or METL by itself, and why. None of it belongs to a state.
create table if not exists metl.operation (
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
comment on table metl.operation is 'What was sent again, reset, snapshot or reprocessed: by whom, when and why.';

-- One row for each message that could not be mapped, however often it came back. Rows are never deleted.
create table if not exists metl.dead_letter (
    letter bigint generated always as identity constraint dead_letter_pk primary key,
    topic text not null,
    partition int not null,
    message_offset bigint not null,
    -- A topic that was made anew counts its offsets anew.
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
comment on table metl.dead_letter is 'Messages that could not be mapped, with their payload until somebody purges it.';
create index if not exists dead_letter_by_status on metl.dead_letter (status, reason, topic);
comment on index metl.dead_letter_by_status is 'For what waits, and for what a new state makes known.';

create table if not exists metl.dead_position (
    topic text,
    partition int,
    next_offset bigint not null,
    at timestamptz not null default clock_timestamp(),
    constraint dead_position_pk primary key (topic, partition)
);
comment on table metl.dead_position is
'How far the topics of dead letters are collected, written together with the letters.';

insert into metl.migration (number, name) values (13, 'dead letters') on conflict do nothing;
