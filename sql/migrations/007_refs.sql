-- By what messages on the wire say which version they are of. Ended ones stay, as blocks do.
create table if not exists metl.schema_ref (
    schema_id int not null,
    version int not null,
    kind text not null constraint schema_ref_kind check (
        kind in ('global_id', 'content_id', 'confluent_id', 'confluent_guid', 'fingerprint')
    ),
    ref text not null,
    since bigint not null constraint schema_ref_since references metl.state,
    until bigint constraint schema_ref_until references metl.state,
    constraint schema_ref_pk primary key (schema_id, version, kind, ref, since),
    constraint schema_ref_of foreign key (schema_id, version) references metl.schema_version,
    constraint schema_ref_ends_after_it_begins check (until > since)
);
comment on table metl.schema_ref is 'The ids and fingerprints by which messages name a schema version.';
create unique index if not exists schema_ref_is_current_once
on metl.schema_ref (schema_id, version, kind, ref) where until is null;
comment on index metl.schema_ref_is_current_once is 'A version has each of its refs once.';
create unique index if not exists global_id_names_one_version
on metl.schema_ref (schema_id, ref) where kind = 'global_id' and until is null;
comment on index metl.global_id_names_one_version is
'The other kinds may name several versions: a column added and removed again gives the same content.';

-- A version that waits keeps its refs until it is decided.
alter table metl.waiting_plan add column if not exists refs jsonb not null default '{}';
drop function if exists metl._add_schema_version(text, int, jsonb, jsonb);
drop function if exists metl._wait(text, text, int, jsonb, metl._cell_fate[]);

-- What changed since a state is found at the cost of what changed.
create index if not exists block_by_since on metl.block (since);
create index if not exists block_by_until on metl.block (until) where until is not null;
create index if not exists schema_version_by_added on metl.schema_version (added);
create index if not exists schema_version_by_deleted on metl.schema_version (deleted) where deleted is not null;
create index if not exists schema_ref_by_since on metl.schema_ref (since);
create index if not exists schema_ref_by_until on metl.schema_ref (until) where until is not null;
comment on index metl.block_by_since is 'For metl.schema_changes.';
comment on index metl.block_by_until is 'For metl.schema_changes.';
comment on index metl.schema_version_by_added is 'For metl.schema_changes.';
comment on index metl.schema_version_by_deleted is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_since is 'For metl.schema_changes.';
comment on index metl.schema_ref_by_until is 'For metl.schema_changes.';

insert into metl.migration (number, name) values (7, 'refs') on conflict do nothing;
