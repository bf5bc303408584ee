create or replace view metl.decompaction as
select schema, version, entity, entity_version, attribute, entity_attribute
from metl._ones;
comment on view metl.decompaction is 'Every 1 of the current matrix, unfolded from the unique blocks.';
