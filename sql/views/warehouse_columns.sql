create or replace view metl.warehouse_columns as
select
    named.name as entity,
    made.name as table_name,
    attribute.name as column_name,
    attribute_type.it as column_type,
    described.it as description,
    known.entity_attribute_id
from metl.warehouse_table as made
inner join metl.entity as named on made.entity_id = named.entity_id
inner join pg_catalog.pg_class as relation
    on made.name = relation.relname and relation.relnamespace = 'warehouse'::regnamespace
inner join (
    select attrelid, attname::text as name, attnum, atttypid, atttypmod from pg_catalog.pg_attribute
    where attnum > 0 and not attisdropped
) as attribute on relation.oid = attribute.attrelid
cross join lateral (select pg_catalog.format_type(attribute.atttypid, attribute.atttypmod) as it) as attribute_type
cross join lateral (select pg_catalog.col_description(relation.oid, attribute.attnum) as it) as described
left join lateral (
    select max(owned.entity_attribute_id) as entity_attribute_id
    from metl.warehouse_column as owned
    where owned.entity_id = made.entity_id and owned.name = attribute.name
) as known on true;
comment on view metl.warehouse_columns is 'The columns of the tables of schema warehouse.';
