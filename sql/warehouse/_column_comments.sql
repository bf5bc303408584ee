create or replace function metl._column_comments(entity text) returns table (name text, description text)
language sql stable
as $$
    with made as (
        select made.* from metl.warehouse_table as made
        inner join metl.entity as named on made.entity_id = named.entity_id
        where named.name = _column_comments.entity
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
        cross join lateral metl._unfed_attributes(made.entity_id) as ended
        left join metl.column_policy as policy on ended.entity_attribute_id = policy.entity_attribute_id
        group by ended.entity_attribute_id
    )
    select own.name, own.description from metl._system_columns() as own
    union all
    select
        known.name,
        concat_ws(' ', 'Attribute ' || quote_ident(shape.attribute) || '.', shape.description, unfed.text)
    from metl._entity_columns(entity) as shape
    inner join metl.warehouse_column as known on shape.entity_attribute_id = known.entity_attribute_id
    left join unfed on shape.entity_attribute_id = unfed.entity_attribute_id
    union all
    select known.name, format('No longer part of the entity since version %s.', made.entity_version)
    from made
    inner join metl.warehouse_column as known on made.entity_id = known.entity_id and known.retired
$$;
comment on function metl._column_comments(text) is
'What each column of the table of an entity means, and which schemas do not feed it any more.';
