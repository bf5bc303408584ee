create or replace function metl.set_mappings(
    lines metl.mapping_line[], clear_others boolean default false
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
-- A session that began with a small matrix would go on to read all of it for each block of a large one.
set enable_seqscan = off
as $$
declare
    _changes metl._block_content[];
begin
    perform metl._lock();
    _changes := metl._changed_blocks(lines, clear_others);
    if cardinality(_changes) = 0 then
        return null;
    end if;
    return metl._edit_blocks('set_mappings', jsonb_build_object('blocks', cardinality(_changes)), _changes);
end $$;
comment on function metl.set_mappings(metl.mapping_line[], boolean) is
'Sets each block that is mentioned to exactly the lines given, as one state, all or nothing; with clear_others the '
'blocks that are not mentioned map nothing. Returns the new state, null if all was so already.';
