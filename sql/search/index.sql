-- Search: what feeds what
\ir feeds.sql
\ir fed_by.sql
\ir search.sql
\ir progressions.sql
\ir progression.sql
\ir _unfed.sql
\ir coverage.sql
