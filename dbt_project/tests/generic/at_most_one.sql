{# For each value of the columns `per` there is at most one value of the column. #}
{% test at_most_one(model, column_name, per) %}
    select {{ per | join(', ') }}
    from {{ model }}
    group by {{ per | join(', ') }}
    having count(distinct {{ column_name }}) > 1
{% endtest %}
