create or replace function metl.draft_entity_version(entity text, attributes jsonb, description text default null)
returns table (
    live_version int, next_version int, draft jsonb, changes jsonb, policy text, plan_id bigint, is_planned boolean
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _owner text := format('entity %L', entity);
    _fresh metl._given_attribute[];
    _plan metl._cell_fate[];
begin
    perform metl._check_name('entity', entity);
    perform metl._parse_attributes(_owner, attributes);
    draft := metl._drop_applied_renames(entity, attributes);
    _fresh := metl._parse_attributes(_owner, draft);
    select max(v.version) filter (where v.deleted is null), coalesce(max(v.version), 0) + 1
    into live_version, next_version
    from metl.entity_version as v inner join metl.entity as e using (entity_id)
    where e.name = draft_entity_version.entity;
    changes := (
        select coalesce(jsonb_agg(jsonb_strip_nulls(to_jsonb(difference))), '[]')
        from metl._diff_entity(entity, next_version, _fresh, description) as difference
    );
    if live_version is not null and changes = '[]' then
        next_version := null;
    else
        _plan := array(select planned from metl._plan_entity_version(entity, next_version, _fresh) as planned);
        policy := case
            when exists (
                select from (select distinct cell.schema_id, cell.entity_id from unnest(_plan) as cell) as mapped
                where metl._effective_policy(mapped.schema_id, mapped.entity_id) = 'freeze'
            ) then 'freeze'
            when metl._needs_confirmation(_plan) then 'confirm'
            else 'auto'
        end;
        select
            waiting.plan_id,
            metl._parse_attributes(_owner, waiting.attributes) = _fresh
            and coalesce(waiting.description, '') = coalesce(draft_entity_version.description, '')
        into plan_id, is_planned
        from metl.waiting_plan as waiting
        where
            waiting.kind = 'entity_version'
            and waiting.name = draft_entity_version.entity
            and waiting.version <= next_version
            and waiting.decision is null
        order by waiting.version limit 1;
    end if;
    return next;
end $$;
comment on function metl.draft_entity_version(text, jsonb, text) is
'What has to be added for an entity to be as given: the next version (null if it is so already), its attributes '
'without renames that were done before, in what it differs from the live one, the strictest policy that applies to '
'its mappings, and the plan that has to be decided first, if one waits (is_planned: it is this very update).';
