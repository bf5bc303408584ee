{# A role that may read the marts must be let into their schema too. #}
{% macro let_roles_in() %}
    {% if execute and flags.WHICH in ('run', 'build') %}
        {% do take_turns() %}
        grant usage on schema metl_marts to metl_reader, metl_job, metl_steward;
        comment on schema metl_marts is 'The dense matrix of METL as tested, documented models; made by dbt.';
    {% endif %}
{% endmacro %}
