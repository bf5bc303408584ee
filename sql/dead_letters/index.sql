-- Dead letters: messages that could not be mapped

-- Internals
\ir _header_bigint.sql
\ir _header_int.sql
\ir _parse_dead_letters.sql
\ir _claim_letters.sql
\ir _due_letters.sql

-- Views
\ir due_letters.sql
\ir dead_letters.sql
\ir dead_letter_counts.sql
\ir dead_positions.sql

-- Functions
\ir collect_letters.sql
\ir send_letters.sql
\ir send_due_letters.sql
\ir give_up_letters.sql
\ir letter_payload.sql
