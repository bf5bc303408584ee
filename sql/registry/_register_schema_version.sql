create or replace function metl._register_schema_version(schema text, version int, attributes jsonb, refs jsonb)
returns table (event text, plan_id bigint, state bigint, problem text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _attributes jsonb;
    _before bigint := metl.current_state();
    _hint text;
begin
    _attributes := metl._resolve_aliases(schema, version, attributes);
    if exists (
        select from metl.schema_version as v inner join metl.schema as s on v.schema_id = s.schema_id
        where s.name = _register_schema_version.schema and v.version = _register_schema_version.version
    ) then
        if metl._has_same_attributes(schema, version, _attributes) then
            event := 'adopted';
            state := metl._add_refs(schema, version, refs);
        else
            event := 'conflict';
            problem := format('Version %s of %s was registered by hand with other attributes.', version, schema);
        end if;
    else
        state := metl._add_schema_version(schema, version, _attributes, refs);
        select plan.plan_id into plan_id from metl.waiting_plan as plan
        where
            plan.kind = 'schema_version'
            and plan.name = _register_schema_version.schema
            and plan.version = _register_schema_version.version
            and plan.decision is null;
        event := case when plan_id is null then 'registered' else 'waiting' end;
    end if;
    if state = _before then
        state := null;
    end if;
    return next;
exception
    -- What METL itself refuses. Anything else is no fault of the version, and undoes all.
    when invalid_parameter_value or undefined_object or duplicate_object or object_not_in_prerequisite_state
        or name_too_long or unique_violation
    then
        get stacked diagnostics problem = message_text, _hint = pg_exception_hint;
        event := 'unreadable';
        plan_id := null;
        state := null;
        problem := concat_ws(' ', problem, _hint);
        return next;
end $$;
comment on function metl._register_schema_version(text, int, jsonb, jsonb) is
'Adds a schema version, or adopts one that is there with the same attributes; a refusal is a problem, not an error.';
