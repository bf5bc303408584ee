-- Decoding: SQL that turns values of Debezium and Kafka Connect into values of PostgreSQL
\ir _wire_native.sql
