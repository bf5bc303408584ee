-- Decoding: SQL that turns values of Debezium and Kafka Connect, which come as text, into values of PostgreSQL

-- Internals
\ir _does_not_fit.sql
\ir _decimal_of.sql
\ir _wire_is_number.sql
\ir _postgres_year.sql
\ir _wire_year.sql
\ir _wire_moment.sql
\ir _wire_native.sql
\ir _warehouse_type.sql
\ir _wire_value.sql
\ir _warehouse_read.sql
