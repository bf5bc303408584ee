create or replace function metl._warehouse_work(job text) returns text
language sql immutable
return '_staged_' || substr(md5(job), 1, 12);
comment on function metl._warehouse_work(text) is 'The table of schema warehouse in which a job keeps a batch.';
