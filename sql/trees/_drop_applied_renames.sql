create or replace function metl._drop_applied_renames(entity text, attributes jsonb) returns jsonb
language sql stable
as $$
    -- Files of entities keep renamed_from for ever. It was applied if the live version has the attribute and it had
    -- this renamed_from in its first version or a later one: a new attribute of the old name is another one.
    with versions as (
        select v.entity_id, v.version, v.deleted is null as is_live
        from metl.entity as e inner join metl.entity_version as v on e.entity_id = v.entity_id
        where e.name = _drop_applied_renames.entity
    ),
    known as (
        select versions.*, attribute.name, attribute.renamed_from
        from versions
        inner join metl.entity_attribute_version as attribute
            on versions.entity_id = attribute.entity_id and versions.version = attribute.version
    ),
    done as (
        select live.name, known.renamed_from
        from known as live
        inner join known on live.name = known.name and known.renamed_from is not null
        where
            live.is_live
            and not exists (
                select from versions as since
                where
                    since.version > known.version
                    and not exists (
                        select from known as still where still.version = since.version and still.name = live.name
                    )
            )
    )
    select coalesce(jsonb_agg(
        case
            when exists (
                select from done
                where done.name = element.value ->> 'name' and done.renamed_from = element.value ->> 'renamed_from'
            ) then element.value - 'renamed_from'
            else element.value
        end
        order by element.position
    ), '[]')
    from jsonb_array_elements(attributes) with ordinality as element (value, position)
$$;
comment on function metl._drop_applied_renames(text, jsonb) is
'Attributes of an entity without the renames that were done in an earlier version.';
