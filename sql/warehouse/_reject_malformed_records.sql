create or replace function metl._reject_malformed_records(staged text, entity text) returns bigint
language sql
as $$
    select sum(metl._reject_records(
        staged, format('work.entity = %L and work.round > 0 and (%s)', entity, unfit.condition), unfit.reason
    ))
    from metl._rejection_rules() as unfit
$$;
comment on function metl._reject_malformed_records(text, text) is
'Rejects the malformed records of an entity; returns how many there are.';
