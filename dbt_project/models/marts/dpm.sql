with ones as (
    select * from {{ ref('stg_decompaction') }}
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    ones.schema,
    ones.version,
    ones.entity,
    ones.entity_version,
    ones.attribute,
    ones.entity_attribute,
    current_state.state
from ones
cross join current_state
