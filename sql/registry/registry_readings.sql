create or replace view metl.registry_readings as
select registry, nullif(registry_group, '') as registry_group, read_until, read_at
from metl.registry_reading;
comment on view metl.registry_readings is
'Up to which moment, by its own clock, each registry was read: all of it (group null) or one group.';
