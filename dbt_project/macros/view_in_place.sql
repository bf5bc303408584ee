{#
    dbt's own view materialization builds a second view, swaps the names and drops the old one with
    everything that depends on it, somebody's report among it. Replaced in place, a view is never missing
    and keeps its dependents and whatever rights others were given.

    Even so a replacement waits for whoever reads the view, and everybody else waits behind it. So a view
    that would stay the same is left alone, and the wait for any other is short.
#}
{% materialization view, adapter='postgres' %}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='view') -%}

    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}
    {% do lock_build() %}
    {% if existing is not none and is_same_view(existing, sql) %}
        {% do get_assert_columns_equivalent(sql) %}
        {% call statement('main') -%} select 'unchanged' {%- endcall %}
    {% else %}
        {% call statement('main') -%}
            set local lock_timeout = '3s';
            {{ get_replace_view_sql(target_relation, sql) }}
        {%- endcall %}
    {% endif %}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
    {% do persist_docs(target_relation, model) %}
    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}

{# Whether a view with this query would be the same; an error if it cannot become it in place. #}
{% macro is_same_view(existing, sql) %}
    {% if not existing.is_view %}
        {{ exceptions.raise_compiler_error(
            existing.render() ~ " is a " ~ existing.type ~ " and not a view of METL. Rename or drop it, then build again."
        ) }}
    {% endif %}
    {% do run_query("create temporary view metl_candidate as (" ~ sql ~ ")") %}
    {% set found = run_query("
        select
            pg_get_viewdef('metl_candidate'::regclass) = pg_get_viewdef('" ~ existing.include(database=false) ~ "'::regclass),
            not exists (
                select attnum, attname, atttypid, atttypmod from pg_attribute
                where attrelid = '" ~ existing.include(database=false) ~ "'::regclass
                except
                select attnum, attname, atttypid, atttypmod from pg_attribute
                where attrelid = 'metl_candidate'::regclass
            )
    ").rows[0] %}
    {% do run_query("drop view pg_temp.metl_candidate") %}
    {% if not found[1] %}
        {{ exceptions.raise_compiler_error(
            "The columns of " ~ existing.render() ~ " change in a way that PostgreSQL cannot make in place. "
            ~ "See who depends on it, then run: drop view " ~ existing.include(database=false) ~ " cascade"
        ) }}
    {% endif %}
    {{ return(found[0]) }}
{% endmacro %}
