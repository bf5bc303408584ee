-- The ids and fingerprints by which messages name their schema version. Ended ones stay, as blocks do.
create table metl.schema_ref (
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
create unique index schema_ref_is_current_once
on metl.schema_ref (schema_id, version, kind, ref) where until is null;
create unique index global_id_names_one_version
on metl.schema_ref (schema_id, ref) where kind = 'global_id' and until is null;

-- A waiting plan keeps the refs of its version until it is decided.
alter table metl.waiting_plan add column refs jsonb not null default '{}';

-- For metl.schema_changes: finding what changed since a state costs what changed.
create index block_by_since on metl.block (since);
create index block_by_until on metl.block (until) where until is not null;
create index schema_version_by_added on metl.schema_version (added);
create index schema_version_by_deleted on metl.schema_version (deleted) where deleted is not null;
create index schema_ref_by_since on metl.schema_ref (since);
create index schema_ref_by_until on metl.schema_ref (until) where until is not null;
