create or replace view metl.dead_positions as
select topic, partition, next_offset, at from metl.dead_position;
comment on view metl.dead_positions is 'The next offsets of the topics of dead letters that will be collected.';
