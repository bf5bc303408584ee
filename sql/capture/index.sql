-- Change data capture: the health of connectors

-- Views
\ir connectors.sql

-- Functions
\ir report_connectors.sql
