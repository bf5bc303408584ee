{#
    dbt's own view materialization builds a second view, swaps the names and drops the old one with
    everything that depends on it, somebody's report among it. Replaced in place, a view is never missing
    and keeps its dependents. A change that PostgreSQL cannot make in place is an error of its own.
#}
{% materialization view, adapter='postgres' %}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='view') -%}

    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}
    {% do take_turns() %}
    {% call statement('main') -%}
        {{ get_replace_view_sql(target_relation, sql) }}
    {%- endcall %}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=existing is not none) %}
    {% do persist_docs(target_relation, model) %}
    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
