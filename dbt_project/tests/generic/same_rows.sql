{# Both models have the same rows, as far as these columns go. #}
{% test same_rows(model, columns, to) %}
    (
        select {{ columns | join(', ') }}
        from {{ model }}
        except all
        select {{ columns | join(', ') }}
        from {{ to }}
    )
    union all
    (
        select {{ columns | join(', ') }}
        from {{ to }}
        except all
        select {{ columns | join(', ') }}
        from {{ model }}
    )
{% endtest %}
