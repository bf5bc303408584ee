-- Rows that come into the warehouse by SQL are an operation, too.
alter table metl.operation drop constraint operation_kind;
alter table metl.operation add constraint operation_kind check (
    kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load')
);

insert into metl.migration (number, name) values (14, 'initial loads') on conflict do nothing;
