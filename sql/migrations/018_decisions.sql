-- What looks like a rename is kept beside the losses that it would spare, and what somebody made of it.
alter table metl.waiting_plan
add column if not exists likely_renames jsonb not null default '[]',
add column if not exists renames jsonb;
alter table metl.notice add column if not exists likely_renames jsonb not null default '[]';

-- What becomes of values in the warehouse that nothing feeds any more.
create table if not exists metl.column_policy (
    entity_attribute_id bigint
    constraint column_policy_pk primary key
    constraint column_policy_for references metl.entity_attribute,
    policy text not null constraint column_policy_kind check (policy in ('keep', 'clear')),
    set_by text not null default session_user,
    set_at timestamptz not null default clock_timestamp()
);
comment on table metl.column_policy is
'Whether rows of a schema that does not feed an entity attribute any more keep the values that they had.';

-- The state that the comments on the columns are of.
alter table metl.warehouse_table add column if not exists described bigint;

create table if not exists metl.warehouse_clearing (
    entity_attribute_id bigint constraint warehouse_clearing_of references metl.warehouse_column,
    schema_id int constraint warehouse_clearing_from references metl.schema,
    next_block bigint not null default 0,
    end_block bigint not null,
    constraint warehouse_clearing_pk primary key (entity_attribute_id, schema_id)
);
comment on table metl.warehouse_clearing is
'Columns that are null in the rows of a schema, since it does not feed them any more and the policy is clear; up to '
'which page of the table older values were cleared.';

-- These take more, or say more.
drop function if exists metl.confirm_plan(bigint);
drop function if exists metl._tell(bigint, metl._cell_fate[], boolean);
drop function if exists metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[], text);
do $$
begin
    if not exists (
        select from pg_proc
        where oid = to_regprocedure('metl.coverage(text, int)') and 'unfed' = any(proargnames)
    ) then
        drop function if exists metl.coverage(text, int);
    end if;
end $$;

insert into metl.migration (number, name) values (18, 'decisions') on conflict do nothing;
