create or replace view metl.due_letters as
select due.topic, due.ref, due.needed as known_since, count(*) as letters
from metl._due_letters as due
group by due.topic, due.ref, due.needed;
comment on view metl.due_letters is
'Dead letters of unknown versions that a later state knows: they can be replayed once mappers use that state.';
