-- One row. Every writer updates it first: its row lock serializes writers and leaves no gap in the numbers.
create table metl.clock (
    only_row boolean default true constraint clock_pk primary key constraint clock_has_one_row check (only_row),
    state bigint not null
);
insert into metl.clock (state) values (0);

create table metl.state (
    state bigint constraint state_pk primary key constraint state_is_positive check (state > 0),
    cause text not null,
    who text not null default session_user,
    at timestamptz not null default clock_timestamp(),
    summary jsonb not null
);
