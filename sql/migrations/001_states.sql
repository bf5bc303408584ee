-- What is there already is not worth a word each time.
set client_min_messages = warning;

-- Every migration may be run again and then changes nothing.
create schema if not exists metl;
comment on schema metl is 'The mapping matrix of METL: trees, unique blocks, Auto-Update, states, search.';

create table if not exists metl.migration (
    number int constraint migration_pk primary key,
    name text not null,
    applied_at timestamptz not null default now()
);
comment on table metl.migration is 'Which numbered files of sql/migrations have been applied.';

-- One row. Whoever changes anything updates it first, which lines writers up and leaves no gap in the numbers.
create table if not exists metl.clock (
    only_row boolean default true constraint clock_pk primary key constraint clock_has_one_row check (only_row),
    state bigint not null
);
comment on table metl.clock is 'The current state; its row lock makes writers take turns.';
insert into metl.clock (state) values (0) on conflict do nothing;

create table if not exists metl.state (
    state bigint constraint state_pk primary key constraint state_is_positive check (state > 0),
    cause text not null,
    who text not null default session_user,
    at timestamptz not null default clock_timestamp(),
    summary jsonb not null
);
comment on table metl.state is 'One row per change of trees or matrix: what caused it, by whom, when.';

insert into metl.migration (number, name) values (1, 'states') on conflict do nothing;
