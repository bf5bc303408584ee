create or replace function metl._insert_entity_version(
    state bigint, entity text, version int, description text, fresh metl._given_attribute[]
) returns int
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    _entity_id int;
begin
    insert into metl.entity (name) values (_insert_entity_version.entity) on conflict do nothing;
    select known.entity_id into _entity_id from metl.entity as known where known.name = _insert_entity_version.entity;
    with wanted as materialized (
        select
            each.*, matched.id is null as is_new,
            coalesce(matched.id, nextval('metl.entity_attribute_entity_attribute_id_seq')) as entity_attribute_id
        from unnest(fresh) as each
        inner join metl._match_entity_attributes(_insert_entity_version.entity, _insert_entity_version.version, fresh)
            as matched on each.name = matched.name
    ),
    superseded as (
        update metl.entity_version set deleted = _insert_entity_version.state
        where entity_id = _entity_id and deleted is null
        returning 1
    ),
    _ as (
        insert into metl.entity_version (entity_id, version, added, description)
        select
            _entity_id, _insert_entity_version.version, _insert_entity_version.state,
            _insert_entity_version.description
        -- An entity has one live version: the old one makes room first.
        where (select count(*) from superseded) >= 0
    ),
    __ as (
        insert into metl.entity_attribute (entity_attribute_id, entity_id, type) overriding system value
        select wanted.entity_attribute_id, _entity_id, wanted.type from wanted where wanted.is_new
    )
    insert into metl.entity_attribute_version (
        entity_attribute_id, version, entity_id, name, position, optional, description, renamed_from
    )
    select
        wanted.entity_attribute_id, _insert_entity_version.version, _entity_id, wanted.name, wanted.position,
        wanted.optional, wanted.description, wanted.renamed_from
    from wanted;
    return _entity_id;
end $$;
comment on function metl._insert_entity_version(bigint, text, int, text, metl._given_attribute[]) is
'Writes an entity version and its attributes into the tree in place of the live one; returns the id of the entity.';
