create or replace function metl.outdated(since_state bigint)
returns table (
    topic text, partition int, first_offset bigint, next_offset bigint, schema text, states bigint[],
    versions int[], other_versions int[]
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    with changed as materialized (
        select distinct diff.schema from metl.diff(since_state, metl.current_state()) as diff
    ),

    change as materialized (
        select change.schema, change.state
        from metl.schema_changes as change
        inner join changed on change.schema = changed.schema
        union
        select changed.schema, rule.state
        from changed
        cross join (
            select topic_rule.since from metl.topic_rule
            union
            select topic_rule.until from metl.topic_rule where topic_rule.until is not null
        ) as rule (state)
    ),

    read_range as materialized (
        select
            topics.topic,
            topics.schema,
            topics.format = 'plain' as is_plain,
            partition.key::int as partition,
            int8range(coalesce((partition.value ->> 0)::bigint, 0), (partition.value ->> 1)::bigint) as offsets,
            batch.state,
            batch.dead ? 'unknown_version' as has_unknown,
            -- The column sets of a schema stay the same from one of its changes to the next.
            coalesce((
                select max(change.state) from change
                where change.schema = topics.schema and change.state <= batch.state
            ), 0) as point
        from metl.job_batch as batch
        cross join lateral jsonb_each(batch.positions) as topic
        cross join lateral jsonb_each(topic.value) as partition
        inner join metl.topics on topic.key = topics.topic
        inner join changed on topics.schema = changed.schema
    ),

    point as (
        select read_range.topic, read_range.schema, read_range.is_plain, read_range.point as state from read_range
        union
        -- Offsets in no batch, or that a replay mapped, may have been mapped under any state.
        select read_range.topic, read_range.schema, read_range.is_plain, since.state
        from read_range
        inner join (
            select change.schema, change.state from change where change.state > since_state
            union
            select changed.schema, bound.state
            from changed cross join (values (since_state), (metl.current_state())) as bound (state)
        ) as since on read_range.schema = since.schema
    ),

    known as materialized (
        select point.topic, point.state, message.ref, message.version, message.column_set
        from point
        cross join lateral metl._message_versions_at(point.state, point.topic, point.schema, point.is_plain) as message
    ),

    -- Messages of versions that were added since are not among what was mapped before; those of versions that are
    -- deleted would be dead letters.
    compared as materialized (
        select
            past.topic, past.state, past.ref, present.version, past.column_set <> present.column_set as differs,
            array[past.column_set, present.column_set] as column_sets
        from known as past
        inner join known as present on past.topic = present.topic and past.ref = present.ref
        where present.state = metl.current_state()
    ),

    cell as materialized (
        select
            compared.topic, compared.state, compared.ref, compared.version, compared.differs,
            block.value ->> 'entity' as entity, mapping.key as entity_attribute,
            -- Once in each column set, unless it was lost, gained or changed.
            count(*) over (
                partition by
                    compared.topic, compared.state, compared.ref, block.value - 'mapping', mapping.key, mapping.value
            ) = 1 as is_changed
        from compared
        cross join lateral unnest(compared.column_sets) as each (column_set)
        cross join lateral jsonb_array_elements(each.column_set) as block
        cross join lateral jsonb_each(block.value -> 'mapping') as mapping
    ),

    aged as materialized (
        select compared.topic, compared.state, compared.ref, compared.version from compared where compared.differs
        union
        -- What a record lacks is taken from older ones that come after it: those of other versions
        -- that feed the same.
        select other.topic, other.state, other.ref, other.version
        from cell
        inner join cell as other
            on
                cell.topic = other.topic and cell.state = other.state
                and cell.entity = other.entity and cell.entity_attribute = other.entity_attribute
        where cell.is_changed
    ),

    judged as materialized (
        select
            read_range.topic, read_range.partition, read_range.schema, read_range.is_plain, read_range.offsets,
            read_range.state, doubtful.ref, doubtful.version,
            aged.ref is not null as is_aged,
            -- A message of an unknown version may have been replayed since, and mapped with other cells.
            aged.ref is not null or (known.ref is null and read_range.has_unknown) as is_outdated
        from read_range
        inner join (select distinct aged.topic, aged.ref, aged.version from aged) as doubtful
            on read_range.topic = doubtful.topic
        left join aged
            on
                read_range.topic = aged.topic and read_range.point = aged.state
                and doubtful.ref = aged.ref and doubtful.version = aged.version
        left join known
            on read_range.topic = known.topic and read_range.point = known.state and doubtful.ref = known.ref
    ),

    by_state as (
        select
            judged.topic, judged.partition, judged.schema, judged.is_plain, judged.ref, judged.version, judged.state,
            range_agg(judged.offsets) as offsets,
            range_agg(judged.offsets) filter (where judged.is_outdated) as outdated,
            range_agg(judged.offsets) filter (where not judged.is_outdated) as right_ones
        from judged
        group by
            judged.topic, judged.partition, judged.schema, judged.is_plain, judged.ref, judged.version, judged.state
    ),

    -- Of two records of a message that of the higher state counts: what was mapped again since is right.
    superseded as (
        select
            by_state.*,
            by_state.outdated - coalesce(
                range_agg(by_state.right_ones) over (
                    partition by by_state.topic, by_state.partition, by_state.ref, by_state.version
                    order by by_state.state desc
                ), '{}'
            ) as still_outdated
        from by_state
    ),

    left_over as materialized (
        select
            superseded.topic, superseded.partition, superseded.schema, superseded.is_plain, superseded.version,
            coalesce(range_agg(superseded.still_outdated), '{}')
            -- A job that is killed between its commit and its word about it leaves a gap.
            + (int8multirange(range_merge(range_agg(superseded.offsets))) - range_agg(superseded.offsets)) as offsets
        from superseded
        group by
            superseded.topic, superseded.partition, superseded.schema, superseded.is_plain, superseded.ref,
            superseded.version
    ),

    mapped_under as (
        select
            judged.topic, judged.partition, max(judged.state) as last_state,
            coalesce(
                array_agg(distinct judged.state order by judged.state) filter (where judged.is_aged), '{}'
            ) as states
        from judged
        group by judged.topic, judged.partition
    ),

    -- From where to where the same versions are outdated.
    span as (
        select
            edge.topic, edge.partition,
            int8range(edge.place, lead(edge.place) over (
                partition by edge.topic, edge.partition order by edge.place
            )) as offsets
        from (
            select distinct left_over.topic, left_over.partition, bound.place
            from left_over
            cross join lateral unnest(left_over.offsets) as each (offsets)
            cross join lateral (values (lower(each.offsets)), (upper(each.offsets))) as bound (place)
        ) as edge
    ),

    found as (
        select
            span.topic, span.partition, span.offsets, left_over.schema, left_over.is_plain,
            array_agg(distinct left_over.version order by left_over.version) as versions
        from span
        inner join left_over
            on
                span.topic = left_over.topic and span.partition = left_over.partition
                and span.offsets <@ left_over.offsets
        group by span.topic, span.partition, span.offsets, left_over.schema, left_over.is_plain
    )

    select
        found.topic, found.partition, lower(found.offsets), upper(found.offsets), found.schema, mapped_under.states,
        found.versions,
        array(
            select other.version
            from metl.schema_versions as other
            where
                not found.is_plain
                and other.schema = found.schema
                and other.added <= mapped_under.last_state
                and other.version <> all(found.versions)
            order by other.version
        )
    from found
    inner join mapped_under on found.topic = mapped_under.topic and found.partition = mapped_under.partition
    order by found.topic, found.partition, lower(found.offsets)
$$;
comment on function metl.outdated(bigint) is
'What was mapped with cells that are no longer those of the matrix, of schemas whose cells changed since a state: the '
'first offset and the one after the last of each range, by what metl.job_batches has, the states that mapped them, the '
'versions whose messages are meant, and those whose messages may be there, too, and are right. '
'Offsets in between of which no batch tells count as well.';
