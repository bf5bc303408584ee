-- What takes the time in dcpm, done ahead: the column sets as of the last build. It is emptied and filled
-- in one transaction and never dropped, since dcpm reads it.
{{ config(
    materialized='incremental',
    incremental_strategy='append',
    full_refresh=false,
    on_schema_change='append_new_columns',
    contract={'enforced': true},
    persist_docs={'relation': true, 'columns': true},
    pre_hook="{% if is_incremental() %} lock table {{ this }} in share row exclusive mode; delete from {{ this }} {% endif %}"
) }}

with column_sets as (
    {{ column_sets() }}
),

newest_state as (
    select
        state,
        at
    from {{ ref('stg_states') }}
    order by state desc
    limit 1
)

select
    column_sets.schema,
    column_sets.version,
    column_sets.refs,
    column_sets.column_set,
    newest_state.state,
    newest_state.at as state_at
from column_sets
cross join newest_state
