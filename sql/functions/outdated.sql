create or replace function metl.outdated(since_state bigint)
returns table (
    topic text, partition int, first_offset bigint, next_offset bigint, schema text, states bigint[]
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with changed as materialized (
        select distinct diff.schema from metl.diff(since_state, metl.current_state()) as diff
    ),

    read_range as materialized (
        select
            topics.topic,
            topics.schema,
            partition.key::int as partition,
            int8range(coalesce((partition.value ->> 0)::bigint, 0), (partition.value ->> 1)::bigint) as offsets,
            batch.state,
            -- The cells of a schema stay the same from one of its changes to the next.
            coalesce((
                select max(change.state) from metl.schema_changes as change
                where change.schema = topics.schema and change.state <= batch.state
            ), 0) as cells_of
        from metl.job_batch as batch
        cross join lateral jsonb_each(batch.positions) as topic
        cross join lateral jsonb_each(topic.value) as partition
        inner join metl.topics on topic.key = topics.topic
        inner join changed on topics.schema = changed.schema
    ),

    other as materialized (
        select distinct point.cells_of, diff.schema
        from (select distinct read_range.cells_of from read_range) as point
        cross join lateral metl.diff(point.cells_of, metl.current_state()) as diff
    ),

    judged as (
        select read_range.*, other.schema is not null as is_outdated
        from read_range
        left join other on read_range.schema = other.schema and read_range.cells_of = other.cells_of
    ),

    -- What was mapped again since is right.
    left_over as (
        select
            judged.topic, judged.partition, judged.schema,
            coalesce(
                array_agg(distinct judged.state order by judged.state) filter (where judged.is_outdated), '{}'
            ) as states,
            coalesce(range_agg(judged.offsets) filter (where judged.is_outdated), '{}')
            -- A job that is killed between its commit and its word about it leaves a gap.
            + (int8multirange(range_merge(range_agg(judged.offsets))) - range_agg(judged.offsets))
            - coalesce(range_agg(judged.offsets) filter (where not judged.is_outdated), '{}') as offsets
        from judged
        group by judged.topic, judged.partition, judged.schema
    )

    select
        left_over.topic, left_over.partition, lower(span.offsets), upper(span.offsets), left_over.schema,
        left_over.states
    from left_over
    cross join lateral unnest(left_over.offsets) as span (offsets)
    order by left_over.topic, left_over.partition, lower(span.offsets)
$$;
comment on function metl.outdated(bigint) is
'What was mapped with cells that are no longer those of the matrix, of schemas whose cells changed since a state: the '
'first offset and the one after the last of each range, by what metl.job_batches has, and the states that mapped them. '
'Offsets in between of which no batch tells count as well.';
