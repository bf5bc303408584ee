create or replace view metl.states as
select state, cause, who, at, summary, why
from metl.state;
comment on view metl.states is 'Every state: what caused it, by whom, when, and what it did.';
