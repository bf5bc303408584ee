create or replace view metl.operations as
select operation, kind, who, why, about, began_at, ended_at, outcome from metl.operation;
comment on view metl.operations is
'What was sent again, given up, reset, snapshot, reprocessed or loaded: by whom, when, why, and what came of it.';
