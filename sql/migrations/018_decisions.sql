-- Likely renames beside the losses that they would avoid, and those that were confirmed.
alter table metl.waiting_plan
add column likely_renames jsonb not null default '[]',
add column renames jsonb;
alter table metl.notice add column likely_renames jsonb not null default '[]';

-- What becomes of values in the warehouse that nothing feeds any more.
create table metl.column_policy (
    entity_attribute_id bigint
    constraint column_policy_pk primary key
    constraint column_policy_for references metl.entity_attribute,
    policy text not null constraint column_policy_kind check (policy in ('keep', 'clear')),
    set_by text not null default session_user,
    set_at timestamptz not null default clock_timestamp()
);

-- The state that the comments on its columns describe.
alter table metl.warehouse_table add column described bigint;

create table metl.warehouse_clearing (
    entity_attribute_id bigint constraint warehouse_clearing_of references metl.warehouse_column,
    schema_id int constraint warehouse_clearing_from references metl.schema,
    next_block bigint not null default 0,
    end_block bigint not null,
    constraint warehouse_clearing_pk primary key (entity_attribute_id, schema_id)
);

-- It returns more columns than before.
drop function if exists metl.coverage(text, int);
