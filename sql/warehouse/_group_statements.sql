-- How the records of a batch become rows. Each step is one statement for all records that are alike; if it fails on a
-- value, it is done again record by record, and those that do not fit are rejected.
create or replace function metl._group_statements(shapes jsonb) returns table (shape jsonb, ops text[], feeds text[])
language sql immutable
begin atomic
    select alike.shape, alike.ops, case when count(*) over (partition by alike.ops) > 1 then alike.feeds end
    from (
        select
            each.shape - 'feed' as shape,
            case each.shape ->> 'op' when 'u' then array['u', 'r'] else array[each.shape ->> 'op'] end as ops,
            array_agg(each.shape ->> 'feed') filter (where each.shape ->> 'feed' is not null) as feeds
        from jsonb_array_elements(shapes) as each (shape)
        group by 1, 2
    ) as alike;
end;
comment on function metl._group_statements(jsonb) is
'Kinds of records that are merged in the same way, as one: they share a statement.';
