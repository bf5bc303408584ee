create or replace function metl._staging_table(job text) returns text
language sql immutable
return '_staged_' || substr(md5(job), 1, 12);
comment on function metl._staging_table(text) is 'The table of schema warehouse in which a job keeps a batch.';
