create table metl.notice (
    notice_id bigint generated always as identity constraint notice_pk primary key,
    state bigint not null,
    kind text not null constraint notice_kind check (
        kind in ('shrunk', 'vanished', 'type_changed', 'came_back', 'unchanged', 'frozen', 'waiting')
    ),
    schema text,
    version int,
    entity text,
    entity_version int,
    lost jsonb not null constraint notice_lost_is_an_array check (jsonb_typeof(lost) = 'array'),
    created_at timestamptz not null default clock_timestamp(),
    confirmed_at timestamptz,
    confirmed_by text
);
create index notice_by_state on metl.notice (state);
