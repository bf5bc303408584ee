with ones as (
    select * from {{ ref('stg_decompaction') }}
),

entity_attributes as (
    select * from {{ ref('stg_entity_attributes') }}
),

schema_attributes as (
    select * from {{ ref('stg_schema_attributes') }}
),

current_state as (
    select * from {{ ref('stg_current_state') }}
)

select
    ones.entity,
    ones.entity_version,
    ones.entity_attribute,
    entity_attributes.type,
    ones.schema,
    ones.version,
    ones.attribute,
    schema_attributes.source_type,
    current_state.state
from ones
inner join entity_attributes
    on
        ones.entity = entity_attributes.entity
        and ones.entity_version = entity_attributes.entity_version
        and ones.entity_attribute = entity_attributes.entity_attribute
inner join schema_attributes
    on
        ones.schema = schema_attributes.schema
        and ones.version = schema_attributes.version
        and ones.attribute = schema_attributes.attribute
cross join current_state
