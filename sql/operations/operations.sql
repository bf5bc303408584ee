create or replace view metl.operations as
select operation, kind, who, why, about, began_at, ended_at, outcome from metl.operation;
comment on view metl.operations is
'Replays, give-ups, resets, snapshots, reprocessing, loads and changes to connectors: by whom, when, why, and with '
'what outcome.';
