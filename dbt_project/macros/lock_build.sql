{#
    One build at a time, by an advisory lock: PostgreSQL refuses to change an object that another transaction
    changes concurrently.
#}
{% macro lock_build() %}
    {% do run_query("select pg_advisory_xact_lock(hashtext('metl_marts'))") %}
{% endmacro %}
