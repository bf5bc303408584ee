create or replace view metl.connectors as
select
    connector, status, problem, way_out, prefix, tables, tasks, slot, behind_bytes, wal_bytes, last_event_at,
    reported_at, connect_url
from metl.connector;
comment on view metl.connectors is
'Every connector of change data capture and its health when `metl status` or `metl sync --watch` last checked.';
