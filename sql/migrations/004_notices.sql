create table if not exists metl.notice (
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
comment on table metl.notice is 'What Auto-Update has to tell a steward.';
create index if not exists notice_by_state on metl.notice (state);
comment on index metl.notice_by_state is 'For the notices of one change.';

insert into metl.migration (number, name) values (4, 'notices') on conflict do nothing;
