create or replace function metl.set_column_policy(entity text, entity_attribute text, policy text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int;
    _attribute_id bigint;
begin
    perform metl._lock();
    if policy is null or policy not in ('keep', 'clear') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is not a policy of a column.', coalesce(quote_literal(policy), 'null')),
            hint = 'Take keep (rows keep what they had when nothing feeds it any more) or clear (they get null).';
    end if;
    _entity_id := metl._require_entity(entity);
    select live.entity_attribute_id into _attribute_id
    from metl.entity_attributes as live
    where
        live.entity = set_column_policy.entity
        and live.entity_attribute = set_column_policy.entity_attribute
        and live.is_live;
    if not found then
        raise exception using
            errcode = 'undefined_object',
            message = format('Entity %L has no attribute %s.', entity, coalesce(quote_literal(entity_attribute), 'null')),
            hint = 'metl.entity_attributes lists those of its live version.';
    end if;
    insert into metl.column_policy (entity_attribute_id, policy) values (_attribute_id, set_column_policy.policy)
    on conflict on constraint column_policy_pk
    do update set policy = excluded.policy, set_by = session_user, set_at = clock_timestamp();
    -- The next merge, or metl.clear_columns, applies it.
    update metl.warehouse_table set described = null where warehouse_table.entity_id = _entity_id;
end $$;
comment on function metl.set_column_policy(text, text, text) is
'Says what becomes of the values of an entity attribute in rows of schemas that do not feed it any more: keep them '
'(the default), or clear them. metl.clear_columns does it to rows that are there.';
