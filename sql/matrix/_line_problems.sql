create or replace function metl._line_problems(lines metl._read_line[])
returns table (line int, about text, value text, problem text)
language sql stable
as $$
    with read as (
        select * from unnest(lines)
    ),
    -- What each line shares with earlier ones of its block, as far as its names exist.
    compared as (
        select
            read.*,
            first_value(read.line) over same_attribute as attribute_line,
            first_value(read.entity_attribute) over same_attribute as attribute_target,
            first_value(read.line) over same_target as target_line,
            first_value(read.attribute) over same_target as target_source,
            first_value(read.line) over same_block as block_line,
            first_value(read.is_empty) over same_block as block_is_empty
        from read
        where
            read.live_version is not null
            and read.live_entity_version is not null
            and (read.is_empty or read.attribute_id is not null and read.entity_attribute_id is not null)
        window
            same_block as (
                partition by read.schema_id, read.live_version, read.entity_id, read.live_entity_version
                order by read.line
            ),
            same_attribute as (
                partition by
                    read.schema_id, read.live_version, read.entity_id, read.live_entity_version, read.attribute_id
                order by read.line
            ),
            same_target as (
                partition by
                    read.schema_id, read.live_version, read.entity_id, read.live_entity_version,
                    read.entity_attribute_id
                order by read.line
            )
    )
    select read.line, 'schema', read.schema, format('There is no schema %L.', read.schema)
    from read where read.schema_id is null
    union all
    select read.line, 'version', read.version, case
        when metl._version_or_null(read.version) is null
            then format('%L is not a version: versions are whole numbers from 1.', read.version)
        else format('Schema %L has no live version %s. Live are: %s.', read.schema, read.version, coalesce((
            select string_agg(live.version::text, ', ' order by live.version) from metl.schema_version as live
            where live.schema_id = read.schema_id and live.deleted is null
        ), 'none'))
    end
    from read where read.schema_id is not null and read.live_version is null
    union all
    select read.line, 'attribute', read.attribute,
        format('Schema %L version %s has no attribute %L.', read.schema, read.live_version, read.attribute)
    from read where read.live_version is not null and read.attribute_id is null and not read.is_empty
    union all
    select read.line, 'entity', read.entity, format('There is no entity %L.', read.entity)
    from read where read.entity_id is null
    union all
    select read.line, 'entity_version', read.entity_version, case
        when metl._version_or_null(read.entity_version) is null
            then format('%L is not a version: versions are whole numbers from 1.', read.entity_version)
        else format('Entity %L has no live version %s. Live is: %s.', read.entity, read.entity_version, coalesce((
            select live.version::text from metl.entity_version as live
            where live.entity_id = read.entity_id and live.deleted is null
        ), 'none'))
    end
    from read where read.entity_id is not null and read.live_entity_version is null
    union all
    select read.line, 'entity_attribute', read.entity_attribute,
        format('Entity %L version %s has no attribute %L.', read.entity, read.live_entity_version, read.entity_attribute)
    from read
    where read.live_entity_version is not null and read.entity_attribute_id is null and not read.is_empty
    union all
    select compared.line, null, null, format('Line %s says the same.', compared.block_line)
    from compared
    where compared.is_empty and compared.block_is_empty and compared.block_line < compared.line
    union all
    select compared.line, null, null, format(
        'Of this block, line %s maps %s and this one %s.', compared.block_line,
        case when compared.block_is_empty then 'nothing' else 'something' end,
        case when compared.is_empty then 'nothing' else 'something' end
    )
    from compared where compared.is_empty <> compared.block_is_empty
    union all
    select compared.line, null, null, format('Line %s says the same.', compared.attribute_line)
    from compared
    where
        not compared.is_empty
        and compared.attribute_line < compared.line
        and compared.attribute_target = compared.entity_attribute
    union all
    select compared.line, null, null, format(
        'Attribute %L is mapped to %L in line %s already; a block is 1:1 both ways.',
        compared.attribute, compared.attribute_target, compared.attribute_line
    )
    from compared
    where
        not compared.is_empty
        and compared.attribute_line < compared.line
        and compared.attribute_target <> compared.entity_attribute
    union all
    select compared.line, null, null, format(
        'Entity attribute %L is mapped from %L in line %s already; a block is 1:1 both ways.',
        compared.entity_attribute, compared.target_source, compared.target_line
    )
    from compared
    where
        not compared.is_empty
        and compared.target_line < compared.line
        and compared.target_source <> compared.attribute
    order by 1, 2
$$;
comment on function metl._line_problems(metl._read_line[]) is
'Every problem of resolved lines; about is the column whose value does not exist.';
