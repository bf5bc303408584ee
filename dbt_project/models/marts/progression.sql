with progressions as (
    select * from {{ ref('stg_progressions') }}
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    progressions.schema,
    progressions.version,
    progressions.entity,
    progressions.entity_version,
    progressions.attribute,
    progressions.entity_attribute,
    progressions.change,
    current_state.state
from progressions
cross join current_state
