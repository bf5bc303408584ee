-- Row types that functions hand to each other.
do $$
begin
    if to_regtype('metl._given_attribute') is null then
        create type metl._given_attribute as (
            position int, name text, source_type text, type text,
            optional boolean, description text, renamed_from text
        );
    end if;
    if to_regtype('metl._known_attribute') is null then
        create type metl._known_attribute as (id bigint, name text, type text, renamed_from text);
    end if;
    if to_regtype('metl._cell_fate') is null then
        create type metl._cell_fate as (
            schema_id int, version int, entity_id int, entity_version int,
            attribute_id bigint, entity_attribute_id bigint,
            schema text, entity text, attribute text, entity_attribute text,
            fate text, reason text
        );
    end if;
    if to_regtype('metl.planned_cell') is null then
        create type metl.planned_cell as (
            schema text, version int, entity text, entity_version int,
            attribute text, entity_attribute text, fate text, reason text
        );
    end if;
    if to_regtype('metl._block_content') is null then
        create type metl._block_content as (
            schema_id int, version int, entity_id int, entity_version int, content bigint[]
        );
    end if;
end $$;
comment on type metl._given_attribute is 'An attribute as somebody asks for it, validated.';
comment on type metl._known_attribute is 'An attribute of a neighbouring version.';
comment on type metl.planned_cell is
'What an update does to one cell: fate is kept, lost, gained or suggested; reason says why, and of one that is gained '
'whether its values may not fit.';
comment on type metl._cell_fate is 'The same with the ids.';
comment on type metl._block_content is
'What one block is to contain: pairs {attribute_id, entity_attribute_id} by ascending attribute_id; '
'{} maps nothing, null is not stored.';

insert into metl.migration (number, name) values (6, 'row types') on conflict do nothing;
