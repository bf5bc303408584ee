create or replace view metl.registry_readings as
select registry, nullif(registry_group, '') as registry_group, read_until, read_at
from metl.registry_reading;
comment on view metl.registry_readings is
'The time, by its own clock, up to which each registry was read: all of it (group null) or one group.';
