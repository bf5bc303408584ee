create or replace function metl.diff(from_state bigint, to_state bigint)
returns table (
    change text, schema text, version int, entity text, entity_version int, attribute text, entity_attribute text
)
language sql stable
as $$
    select 'lost', lost.* from (
        select * from metl.decompaction_at(from_state) except select * from metl.decompaction_at(to_state)
    ) as lost
    union all
    select 'gained', gained.* from (
        select * from metl.decompaction_at(to_state) except select * from metl.decompaction_at(from_state)
    ) as gained
$$;
comment on function metl.diff(bigint, bigint) is 'The cells that were lost and gained from one state to another.';
