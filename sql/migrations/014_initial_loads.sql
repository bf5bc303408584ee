-- Rows that come into the warehouse by SQL are an operation, too. Once: a later migration knows more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 14) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load')
        );
    end if;
end $$;

insert into metl.migration (number, name) values (14, 'initial loads') on conflict do nothing;
