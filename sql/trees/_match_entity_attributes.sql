create or replace function metl._match_entity_attributes(entity text, version int, fresh metl._given_attribute[])
returns table (name text, id bigint, previous_name text, goes_on boolean, type_changed boolean)
language sql stable
as $$
    select matched.*
    from metl._match_attributes(
        format('entity %L version %s', entity, version),
        fresh,
        (
            select array_agg((known.entity_attribute_id, known.name, identity.type, known.renamed_from)::metl._known_attribute)
            from metl.entity as e
            inner join metl.entity_version as live on e.entity_id = live.entity_id and live.deleted is null
            inner join metl.entity_attribute_version as known
                on live.entity_id = known.entity_id and live.version = known.version
            inner join metl.entity_attribute as identity on known.entity_attribute_id = identity.entity_attribute_id
            where e.name = entity
        ),
        -- Entity versions do not come late: there is nothing above.
        '{}'
    ) as matched
$$;
comment on function metl._match_entity_attributes(text, int, metl._given_attribute[]) is
'Matches the attributes of a new entity version with those of the live one.';
