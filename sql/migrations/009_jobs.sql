-- Jobs and their progress. They belong to no state: jobs never wait for writers of the matrix.
create table metl.job (
    job text constraint job_pk primary key,
    checkpoint text not null,
    instance uuid not null,
    about jsonb not null default '{}' constraint job_about_is_an_object check (jsonb_typeof(about) = 'object'),
    started_at timestamptz not null default clock_timestamp(),
    status text not null default 'starting' constraint job_status check (
        status in ('starting', 'running', 'retrying', 'stopping', 'stopped', 'halted', 'failed')
    ),
    status_at timestamptz not null default clock_timestamp(),
    reason text,
    stop_requested boolean not null default false
);

-- Totals stand here and not in metl.job, whose row an open transaction that stops a job keeps locked.
create table metl.job_instance (
    job text constraint job_instance_of references metl.job,
    instance uuid,
    rows_in bigint not null default 0,
    rows_out bigint not null default 0,
    rows_filtered bigint not null default 0,
    dead jsonb not null default '{}',
    constraint job_instance_pk primary key (job, instance)
);

create table metl.job_batch (
    job text,
    instance uuid,
    batch bigint,
    -- No reference: state 0, the empty matrix, is no row of metl.state.
    state bigint not null,
    began_at timestamptz not null,
    ended_at timestamptz not null,
    rows_in bigint not null,
    rows_out bigint not null,
    rows_filtered bigint not null,
    dead jsonb not null default '{}',
    latency_ms jsonb,
    matrix_rows bigint,
    matrix_bytes bigint,
    lag bigint,
    positions jsonb not null default '{}',
    constraint job_batch_pk primary key (job, instance, batch),
    constraint job_batch_of foreign key (job, instance) references metl.job_instance
);
create index job_batch_by_end on metl.job_batch (job, ended_at, batch);
create index job_batch_with_latency on metl.job_batch (job, ended_at, batch) where latency_ms is not null;
