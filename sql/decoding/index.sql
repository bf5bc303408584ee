-- Decoding: SQL that turns values of Debezium and Kafka Connect, which come as text, into values of PostgreSQL

-- Internals
\ir _refuse_inexact_value.sql
\ir _decode_decimal.sql
\ir _is_integer_sql.sql
\ir _iso_year_to_postgres.sql
\ir _iso_year_sql.sql
\ir _exact_timestamp_sql.sql
\ir _source_value_sql.sql
\ir _column_type.sql
\ir _column_value_sql.sql
\ir _json_field_sql.sql
