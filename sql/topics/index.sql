-- Topics: how messages are read and by what they name their version
\ir _check_topic.sql
\ir set_topic.sql
\ir unset_topic.sql
\ir topics.sql
\ir _topics_at.sql
\ir _column_sets_at.sql
\ir matrix_at.sql
\ir _message_versions_at.sql
