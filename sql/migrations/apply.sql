-- Applies migration :file in psql unless it is recorded, in a transaction of its own or in that of psql -1.
select pg_current_xact_id_if_assigned() is null as autocommit
\gset
select metl._migration_is_pending(:'file', :'sha256') as pending
\gset
\if :pending
\if :autocommit
begin;
\endif
set client_min_messages = warning;
\set path :file .sql
\ir :path
reset client_min_messages;
select metl._record_migration(:'file', :'sha256') as recorded
\gset
\if :autocommit
commit;
\endif
\endif
