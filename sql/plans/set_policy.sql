create or replace function metl.set_policy(schema text, entity text, policy text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _schema_id int;
    _entity_id int;
begin
    perform metl._lock();
    if policy is null or policy not in ('auto', 'confirm', 'freeze') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a policy.', coalesce(quote_literal(policy), 'null')),
            hint = 'Take auto, confirm (losses wait for somebody) or freeze (nothing changes).';
    end if;
    if schema is not null then _schema_id := metl._require_schema(schema); end if;
    if entity is not null then _entity_id := metl._require_entity(entity); end if;
    insert into metl.policy (schema_id, entity_id, policy) values (_schema_id, _entity_id, set_policy.policy)
    on conflict on constraint policy_is_set_once
    do update set policy = excluded.policy, set_by = session_user, set_at = clock_timestamp();
end $$;
comment on function metl.set_policy(text, text, text) is
'Sets the policy of a schema and an entity: auto, confirm or freeze. Null stands for all; the most specific one wins.';
