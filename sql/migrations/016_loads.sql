-- Messages that somebody chooses to be loaded, by --from or --until, are an operation, too. Once: a later migration
-- knows more kinds.
do $$
begin
    if not exists (select from metl.migration where number = 16) then
        alter table metl.operation drop constraint operation_kind;
        alter table metl.operation add constraint operation_kind check (
            kind in ('replay', 'give_up', 'reset', 'snapshot', 'reprocess', 'initial_load', 'load')
        );
    end if;
end $$;

insert into metl.migration (number, name) values (16, 'loads') on conflict do nothing;
