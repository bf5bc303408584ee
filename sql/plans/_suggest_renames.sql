create or replace function metl._suggest_renames(
    schema text, version int, fresh metl._given_attribute[], plan metl._cell_fate[]
) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Most versions lose nothing, and need no guess.
    if not exists (select from unnest(plan) as cell where cell.reason = 'dropped') then
        return '[]';
    end if;
    return metl._filter_renames(metl._lost_cells(plan), coalesce((
        select jsonb_agg(to_jsonb(rename)) from metl._likely_renames(schema, version, fresh) as rename
    ), '[]'));
end $$;
comment on function metl._suggest_renames(text, int, metl._given_attribute[], metl._cell_fate[]) is
'The likely renames of a new version that would spare cells which it loses.';
