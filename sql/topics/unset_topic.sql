create or replace function metl.unset_topic(pattern text) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _state bigint;
begin
    perform metl._lock();
    if not exists (
        select from metl.topic_rule where topic_rule.pattern = unset_topic.pattern and topic_rule.until is null
    ) then
        raise exception using
            errcode = 'undefined_object',
            message = format('There is no rule for %s.', coalesce('topic ' || quote_literal(pattern), 'null')),
            hint = 'metl.topic_rules lists the rules there are.';
    end if;
    _state := metl._begin_state(
        'unset_topic', metl._state_summary(null, null, null, null, '{}') || jsonb_build_object('pattern', pattern)
    );
    update metl.topic_rule set until = _state
    where topic_rule.pattern = unset_topic.pattern and topic_rule.until is null;
    return _state;
end $$;
comment on function metl.unset_topic(text) is
'Removes the rule of metl.set_topic for a topic or a pattern; returns the new state.';
