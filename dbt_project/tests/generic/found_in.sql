{# Every row has its row in the model `to`, by the values of these columns: a relationship by several columns. #}
{% test found_in(model, columns, to) %}
    select {{ columns | join(', ') }}
    from {{ model }}
    except
    select {{ columns | join(', ') }}
    from {{ to }}
{% endtest %}
