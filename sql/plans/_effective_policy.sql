create or replace function metl._effective_policy(schema_id int, entity_id int) returns text
language sql stable
as $$
    -- The most specific wins; of one for the whole schema and one for the whole entity, the stricter.
    select coalesce((
        select policy.policy
        from metl.policy
        where
            (policy.schema_id is null or policy.schema_id = _effective_policy.schema_id)
            and (policy.entity_id is null or policy.entity_id = _effective_policy.entity_id)
        order by
            num_nonnulls(policy.schema_id, policy.entity_id) desc,
            array_position(array['freeze', 'confirm', 'auto'], policy.policy)
        limit 1
    ), 'auto')
$$;
comment on function metl._effective_policy(int, int) is 'The policy in force for a schema and an entity.';
