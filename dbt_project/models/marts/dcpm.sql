with last_build as (
    select
        max(state) as state,
        max(state_at) as at
    from {{ ref('column_sets') }}
),

-- 0 if the last build is of another history, as after a new installation.
built_state as (
    select coalesce(max(states.state), 0) as state
    from {{ ref('stg_states') }} as states
    inner join last_build on states.state = last_build.state and states.at = last_build.at
),

changed as (
    select distinct changes.schema
    from {{ ref('stg_schema_changes') }} as changes
    where changes.state > (select built_state.state from built_state)
),

fresh as (
    {{ column_sets('changed') }}
),

column_sets as (
    select
        built.schema,
        built.version,
        built.refs,
        built.column_set
    from {{ ref('column_sets') }} as built
    where
        built.state = (select built_state.state from built_state)
        and not exists (select 1 from changed where changed.schema = built.schema)
    union all
    select
        fresh.schema,
        fresh.version,
        fresh.refs,
        fresh.column_set
    from fresh
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    column_sets.schema,
    column_sets.version,
    column_sets.refs,
    column_sets.column_set,
    current_state.state
from column_sets
cross join current_state
