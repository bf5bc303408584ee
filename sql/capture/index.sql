-- Change data capture: the health of connectors
\ir report_connectors.sql
\ir connectors.sql
