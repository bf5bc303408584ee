create or replace function metl._apply_renames(plan metl.waiting_plan, renames jsonb) returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    _owner text := format('version %s of %L', plan.version, plan.name);
    _schema_id int;
    _fresh metl._given_attribute[];
    _wrong record;
begin
    if plan.kind <> 'schema_version' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('Plan %s adds a version of entity %L, whose attributes say themselves what they were.',
                             plan.plan_id, plan.name),
            hint = 'Reject it and add the version again with renamed_from.';
    end if;
    if jsonb_typeof(renames) <> 'object' or exists (
        select from jsonb_each(renames) as rename where jsonb_typeof(rename.value) <> 'string'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('The renames are not names by names: %s', left(renames::text, 100)),
            hint = 'Give {"old name": "new name", …}.';
    end if;
    select s.schema_id into _schema_id from metl.schema as s where s.name = plan.name;
    _fresh := metl._parse_attributes(_owner, plan.attributes);
    with matched as (
        select matched.*, each.type
        from metl._match_schema_attributes(plan.name, plan.version, _fresh) as matched
        inner join unnest(_fresh) as each on matched.name = each.name
    ),
    gone as (
        select known.name, known.type
        from unnest(
            metl._schema_attributes(_schema_id, metl._live_version_before(_schema_id, plan.version))
        ) as known
        where known.name not in (select m.previous_name from matched as m where m.previous_name is not null)
    ),
    come as (
        select matched.name, matched.type from matched where matched.previous_name is null
    ),
    given as (
        select rename.key as old, rename.value as new, count(*) over (partition by rename.value) as claims
        from jsonb_each_text(renames) as rename
    )
    select
        case
            when gone.name is null then format('%L is not gone in %s.', given.old, _owner)
            when come.name is null then format('%L did not come in %s.', given.new, _owner)
            when gone.type <> come.type
                then format('%L is of type %s and %L of type %s, so that it cannot be the same attribute.',
                            given.old, gone.type, given.new, come.type)
            else format('Two attributes cannot both be renamed to %L.', given.new)
        end as message,
        format('Gone are %s; new are %s.', coalesce(
            (select string_agg(format('%s (%s)', g.name, g.type), ', ' order by g.name) from gone as g), 'none'
        ), coalesce(
            (select string_agg(format('%s (%s)', c.name, c.type), ', ' order by c.name) from come as c), 'none'
        )) as hint
    into _wrong
    from given
    left join gone on given.old = gone.name
    left join come on given.new = come.name
    where gone.type is distinct from come.type or gone.type is null or given.claims > 1
    order by given.old
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value', message = _wrong.message, hint = _wrong.hint;
    end if;
    return (
        select coalesce(jsonb_agg(
            each.value || coalesce((
                select jsonb_build_object('renamed_from', rename.key)
                from jsonb_each_text(renames) as rename where rename.value = each.value ->> 'name'
            ), '{}')
            order by each.nth
        ), '[]')
        from jsonb_array_elements(plan.attributes) with ordinality as each (value, nth)
    );
end $$;
comment on function metl._apply_renames(metl.waiting_plan, jsonb) is
'The attributes of a plan with renamed_from for the given renames: each old name is gone, each new name is new, one '
'to one and of the same generalized type.';
