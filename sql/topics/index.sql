-- Topics: how messages are read and by what they name their version

-- Internals
\ir _check_topic_rule.sql
\ir _topics_at.sql
\ir _column_sets_at.sql
\ir _message_versions_at.sql

-- Views
\ir topic_rules.sql
\ir topics.sql

-- Functions
\ir set_topic.sql
\ir unset_topic.sql
\ir matrix_at.sql
