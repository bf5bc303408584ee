{#
    PostgreSQL refuses to change an object that another transaction changes in the same moment. Two builds
    that overlap wait for each other instead.
#}
{% macro take_turns() %}
    {% do run_query("select pg_advisory_xact_lock(hashtext('metl_marts'))") %}
{% endmacro %}
