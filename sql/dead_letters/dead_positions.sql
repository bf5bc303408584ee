create or replace view metl.dead_positions as
select topic, partition, next_offset, at from metl.dead_position;
comment on view metl.dead_positions is 'How far the topics of dead letters are collected.';
