-- The reason for a change, of which metl._begin_state takes note: set metl.why = '…' before it.
alter table metl.state add column why text;
