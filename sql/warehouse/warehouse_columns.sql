create or replace view metl.warehouse_columns as
with owned as (
    select entity_id, name, max(entity_attribute_id) as entity_attribute_id
    from metl.warehouse_column
    group by entity_id, name
)

select
    named.name as entity,
    made.name as table_name,
    found.attname::text as column_name,
    pg_catalog.format_type(found.atttypid, found.atttypmod) as column_type,
    pg_catalog.col_description(found.attrelid, found.attnum) as description,
    owned.entity_attribute_id
from metl.warehouse_table as made
inner join metl.entity as named on made.entity_id = named.entity_id
inner join pg_catalog.pg_attribute as found
    on pg_catalog.to_regclass(pg_catalog.format('warehouse.%I', made.name)) = found.attrelid
left join owned on made.entity_id = owned.entity_id and found.attname = owned.name
where found.attnum > 0 and not found.attisdropped;
comment on view metl.warehouse_columns is 'The columns of the tables of schema warehouse.';
