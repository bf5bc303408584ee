-- A load of chosen offsets (--from, --until) is an operation, too.
alter table metl.operation drop constraint operation_kind;
alter table metl.operation add constraint operation_kind check (
    kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load')
);
