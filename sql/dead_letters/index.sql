-- Dead letters: messages that could not be mapped

-- Internals
\ir _header_number.sql
\ir _header_int.sql
\ir _read_letters.sql
\ir _send.sql
\ir _due.sql

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
