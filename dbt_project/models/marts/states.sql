select
    state,
    cause,
    who,
    at,
    schema,
    version,
    entity,
    entity_version,
    kept,
    lost,
    gained
from {{ ref('stg_states') }}
