-- Operations: replays, resets and other manual work on the streams

-- Views
\ir operations.sql

-- Functions
\ir begin_operation.sql
\ir end_operation.sql
