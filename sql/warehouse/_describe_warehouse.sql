create or replace function metl._warehouse_comments(entity text) returns table (name text, description text)
language sql stable
as $$
    with made as (
        select made.* from metl.warehouse_table as made
        inner join metl.entity as named on made.entity_id = named.entity_id
        where named.name = _warehouse_comments.entity
    ),
    unfed as (
        select ended.entity_attribute_id, string_agg(
            format(
                'Not fed by %s since %sstate %s: %s.', ended.schema, 'version ' || ended.version || ', ', ended.state,
                case
                    when policy.policy = 'clear' and ended.version is not null then 'null in its rows'
                    else 'its rows keep what they had'
                end
            ), ' ' order by ended.schema
        ) as text
        from made
        cross join lateral metl._unfed(made.entity_id) as ended
        left join metl.column_policy as policy on ended.entity_attribute_id = policy.entity_attribute_id
        group by ended.entity_attribute_id
    )
    select own.name, own.description from metl._warehouse_own() as own
    union all
    select
        known.name,
        concat_ws(' ', 'Attribute ' || quote_ident(shape.attribute) || '.', shape.description, unfed.text)
    from metl._warehouse_shape(entity) as shape
    inner join metl.warehouse_column as known on shape.entity_attribute_id = known.entity_attribute_id
    left join unfed on shape.entity_attribute_id = unfed.entity_attribute_id
    union all
    select known.name, format('No longer part of the entity since version %s.', made.entity_version)
    from made
    inner join metl.warehouse_column as known on made.entity_id = known.entity_id and known.retired
$$;
comment on function metl._warehouse_comments(text) is
'What each column of the table of an entity means, and which schemas do not feed it any more.';

create or replace function metl._describe_warehouse(entity text) returns void
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
    where named.name = _describe_warehouse.entity;
    _relation := format('warehouse.%I', _made.name)::regclass;
    for _column in
        select wanted.*
        from metl._warehouse_comments(entity) as wanted
        inner join pg_attribute as found
            on found.attrelid = _relation and found.attname = wanted.name and not found.attisdropped
        where wanted.description is distinct from col_description(_relation, found.attnum)
    loop
        execute format('comment on column %s.%I is %L', _relation, _column.name, _column.description);
    end loop;

    with wanted as materialized (
        select ended.entity_attribute_id, ended.schema_id
        from metl._unfed(_made.entity_id) as ended
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
comment on function metl._describe_warehouse(text) is
'Brings what the table of an entity says of its columns, and which of them are to be cleared, to the current state.';

create or replace function metl._warehouse_clear(entity_id int) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    -- 8 MB: a second or so.
    _step constant bigint := 1024;
    _due record;
begin
    select clearing.*, made.name as relation, known.name, s.name as schema into _due
    from metl.warehouse_clearing as clearing
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.warehouse_table as made on known.entity_id = made.entity_id
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    where made.entity_id = _warehouse_clear.entity_id and clearing.next_block < clearing.end_block
    order by clearing.entity_attribute_id, clearing.schema_id
    limit 1;
    if not found then
        return 0;
    end if;
    -- Page by page, since rows that are changed meanwhile, and go elsewhere, are merged without the value.
    execute format(
        'update warehouse.%1$I set %2$I = null, _kept = nullif(_kept - %2$L, ''{}'') '
        'where ctid >= %3$L::tid and ctid < %4$L::tid and _schema = %5$L and %2$I is not null',
        _due.relation, _due.name, format('(%s,0)', _due.next_block), format('(%s,0)', _due.next_block + _step), _due.schema
    );
    update metl.warehouse_clearing as clearing set next_block = clearing.next_block + _step
    where clearing.entity_attribute_id = _due.entity_attribute_id and clearing.schema_id = _due.schema_id;
    return (
        select coalesce(sum(clearing.end_block - clearing.next_block), 0)
        from metl.warehouse_clearing as clearing
        inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
        where known.entity_id = _warehouse_clear.entity_id and clearing.next_block < clearing.end_block
    );
end $$;
comment on function metl._warehouse_clear(int) is
'Clears the next part of what is to be cleared in the table of an entity; how many pages are left.';

create or replace function metl._warehouse_cleared(entity text, schema text) returns text[]
language sql stable
as $$
    select coalesce(array_agg(known.name), '{}')
    from metl.warehouse_clearing as clearing
    inner join metl.schema as s on clearing.schema_id = s.schema_id
    inner join metl.warehouse_column as known on clearing.entity_attribute_id = known.entity_attribute_id
    inner join metl.entity as e on known.entity_id = e.entity_id
    where s.name = _warehouse_cleared.schema and e.name = _warehouse_cleared.entity
$$;
comment on function metl._warehouse_cleared(text, text) is
'The columns that are null in rows of a schema, whatever older versions of it bring.';
