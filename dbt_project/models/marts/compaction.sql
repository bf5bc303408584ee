with columns as (
    select count(attribute) as attributes
    from {{ ref('stg_schema_attributes') }}
),

rows as (
    select count(entity_attribute) as entity_attributes
    from {{ ref('stg_entity_attributes') }}
),

dense as (
    select count(attribute) as dpm
    from {{ ref('stg_decompaction') }}
),

stored as (
    select
        count(attribute) as dusb,
        count(version) - count(attribute) as null_blocks
    from {{ ref('stg_dusb') }}
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    columns.attributes * rows.entity_attributes as elements,
    dense.dpm,
    stored.dusb,
    stored.null_blocks,
    (
        1 - (stored.dusb + stored.null_blocks) / nullif(columns.attributes * rows.entity_attributes, 0)::numeric
    )::numeric(21, 20) as ratio,
    current_state.state
from columns
cross join rows
cross join dense
cross join stored
cross join current_state
