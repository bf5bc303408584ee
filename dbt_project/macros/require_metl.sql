{#
    Before anything else: is there a METL that has what the models read, and are there the roles that
    they are granted to? Columns are compared with those of the sources, so that no version number
    has to be kept in step.
#}
{% macro require_metl() %}
    {% if execute %}
        {% set found = run_query("
            select table_name || '.' || column_name from information_schema.columns where table_schema = 'metl'
        ").columns[0].values() %}
        {% if not found %}
            {{ exceptions.raise_compiler_error(
                "Database " ~ target.dbname ~ " has no METL in it that " ~ target.user ~ " can read. Run: metl install"
            ) }}
        {% endif %}
        {% for source in graph.sources.values() %}
            {% for column in source.columns.values() if source.name ~ '.' ~ column.name not in found %}
                {{ exceptions.raise_compiler_error(
                    "Database " ~ target.dbname ~ " has an older METL: " ~ source.schema ~ "." ~ source.name
                    ~ " has no column " ~ column.name ~ ". Run: metl install"
                ) }}
            {% endfor %}
        {% endfor %}
        {% set roles = run_query("
            select rolname from pg_roles where rolname in ('metl_reader', 'metl_job', 'metl_steward')
        ").columns[0].values() %}
        {% if roles | length < 3 %}
            {{ exceptions.raise_compiler_error(
                "The server has no roles metl_reader, metl_job and metl_steward. Run as its administrator: "
                ~ "psql -f sql/cluster.sql"
            ) }}
        {% endif %}
    {% endif %}
{% endmacro %}
