-- Removing or restarting a connector is an operation, too.
alter table metl.operation drop constraint operation_kind;
alter table metl.operation add constraint operation_kind check (
    kind in (
        'replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load',
        'capture_remove', 'capture_restart'
    )
);

-- The health of connectors when it was last checked. It belongs to no state.
create table metl.connector (
    connect_url text,
    connector text,
    prefix text,
    status text not null constraint connector_status check (
        status in ('running', 'paused', 'stopped', 'restarting', 'unassigned', 'failed', 'unreachable')
    ),
    problem text,
    way_out text,
    tasks jsonb not null default '[]' constraint connector_tasks_is_an_array check (jsonb_typeof(tasks) = 'array'),
    tables text[] not null default '{}',
    slot text,
    behind_bytes bigint,
    wal_bytes bigint,
    last_event_at timestamptz,
    reported_at timestamptz not null default clock_timestamp(),
    constraint connector_pk primary key (connect_url, connector),
    constraint connector_problem_has_a_way_out check ((problem is null) = (way_out is null))
);
