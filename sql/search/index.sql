-- Search: what feeds what

-- Internals
\ir _unfed_attributes.sql

-- Views
\ir progressions.sql

-- Functions
\ir feeds.sql
\ir fed_by.sql
\ir search.sql
\ir progression.sql
\ir coverage.sql
