create or replace view metl.due_letters as
select due.topic, due.ref, due.needed as known_since, count(*) as letters
from metl._due_letters as due
group by due.topic, due.ref, due.needed;
comment on view metl.due_letters is
'Dead letters of unknown versions that have become known since: they can be sent again once mappers use that state.';
