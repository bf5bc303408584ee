-- What has been applied. Unlike the migrations, this runs with each installation.
set client_min_messages = warning;
create schema if not exists metl;
create table if not exists metl.migration (
    number int constraint migration_pk primary key,
    name text not null,
    applied_at timestamptz not null default now()
);
-- Releases before checksums did not have it.
alter table metl.migration add column if not exists checksum text;
reset client_min_messages;
