create or replace function metl._refresh_columns(entity text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    _made metl.warehouse_table;
    _relation regclass;
    _column record;
begin
    select made.* into _made
    from metl.warehouse_table as made inner join metl.entity as named using (entity_id)
    where named.name = _refresh_columns.entity;
    _relation := format('warehouse.%I', _made.name)::regclass;
    for _column in
        select wanted.*
        from metl._column_comments(entity) as wanted
        inner join pg_attribute as found
            on found.attrelid = _relation and found.attname = wanted.name and not found.attisdropped
        where wanted.description is distinct from col_description(_relation, found.attnum)
    loop
        execute format('comment on column %s.%I is %L', _relation, _column.name, _column.description);
    end loop;

    with wanted as materialized (
        select ended.entity_attribute_id, ended.schema_id
        from metl._unfed_attributes(_made.entity_id) as ended
        inner join metl.column_policy as policy
            on ended.entity_attribute_id = policy.entity_attribute_id and policy.policy = 'clear'
        -- A schema that is gone as a whole took no values back.
        where ended.version is not null
    ),
    _ as (
        delete from metl.warehouse_clearing as done
        using metl.warehouse_column as known
        where
            done.entity_attribute_id = known.entity_attribute_id and known.entity_id = _made.entity_id
            and not exists (
                select from wanted
                where
                    wanted.entity_attribute_id = done.entity_attribute_id and wanted.schema_id = done.schema_id
            )
    )
    insert into metl.warehouse_clearing (entity_attribute_id, schema_id, end_block)
    select
        wanted.entity_attribute_id, wanted.schema_id,
        pg_relation_size(_relation) / current_setting('block_size')::bigint
    from wanted
    on conflict on constraint warehouse_clearing_pk do nothing;
    update metl.warehouse_table as made set described = metl.current_state() where made.entity_id = _made.entity_id;
end $$;
comment on function metl._refresh_columns(text) is
'Updates the comments on the columns of the table of an entity, and the list of columns to be cleared, to the '
'current state.';
