-- Dead letters: messages that could not be mapped
\ir _read_letters.sql
\ir collect_letters.sql
\ir _send.sql
\ir send_letters.sql
\ir due_letters.sql
\ir send_due_letters.sql
\ir give_up_letters.sql
\ir letter_payload.sql
\ir dead_letters.sql
