-- What an entity means is said with each of its versions, as it is of attributes.
alter table metl.entity_version add column if not exists description text;
-- A version that waits keeps it until it is decided.
alter table metl.waiting_plan add column if not exists description text;
drop function if exists metl._add_entity_version(text, int, jsonb, jsonb);
drop function if exists metl._insert_entity_version(bigint, text, int, metl._given_attribute[]);
drop function if exists metl._wait(text, text, int, jsonb, jsonb, metl._cell_fate[]);

do $$
begin
    if to_regtype('metl.mapping_line') is null then
        -- Versions are text, so that one that is no number can be named with the line it is in.
        create type metl.mapping_line as (
            line int, schema text, version text, attribute text,
            entity text, entity_version text, entity_attribute text
        );
    end if;
    if to_regtype('metl._read_line') is null then
        create type metl._read_line as (
            line int, schema text, version text, attribute text,
            entity text, entity_version text, entity_attribute text,
            schema_id int, live_version int, attribute_id bigint,
            entity_id int, live_entity_version int, entity_attribute_id bigint, is_empty boolean
        );
    end if;
end $$;
comment on type metl.mapping_line is
'One cell as somebody lists it, such as a line of a file; without both attributes: the block maps nothing.';
comment on type metl._read_line is 'The same with the ids of what it names.';

insert into metl.migration (number, name) values (11, 'entities') on conflict do nothing;
