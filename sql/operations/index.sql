-- Operations: replays, resets and other manual work on the streams
\ir begin_operation.sql
\ir end_operation.sql
