-- A content that comes back gives several versions the same ref: messages then mean the newest.
select
    schema,
    max(version) as version,
    kind,
    ref
from {{ ref('stg_schema_refs') }}
group by
    schema,
    kind,
    ref
