-- What people do to connectors is an operation, too. Once: a later migration may know more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 17) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in (
                'replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load',
                'capture_remove', 'capture_restart'
            )
        );
    end if;
end $$;

-- How connectors were when somebody looked last. None of it belongs to a state.
create table if not exists metl.connector (
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
comment on table metl.connector is 'The connectors of change data capture, as they were when somebody looked last.';

insert into metl.migration (number, name) values (17, 'connectors') on conflict do nothing;
