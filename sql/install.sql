-- METL inside PostgreSQL: psql -v ON_ERROR_STOP=1 -f sql/install.sql
-- Run by the owner of the database, who need not be a superuser; sql/roles.sql makes the roles before.
-- Running it again brings an older installation up to date.

\ir migrations/index.sql
\ir dropped.sql
\ir types.sql

\ir states/index.sql
\ir trees/index.sql
\ir topics/index.sql
\ir matrix/index.sql
\ir plans/index.sql
\ir registry/index.sql
\ir jobs/index.sql
\ir operations/index.sql
\ir capture/index.sql
\ir dead_letters/index.sql
\ir search/index.sql
\ir decoding/index.sql
\ir warehouse/index.sql

\ir comments.sql
\ir column_comments.sql
\ir grants.sql
