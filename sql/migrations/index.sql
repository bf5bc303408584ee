-- The tables, by numbered migrations. Each is applied once and recorded in metl.migration; an applied one is never
-- edited. psql goes by the checksums given here, `metl install` compares them with the files.
\ir migration.sql
\ir _migration_is_pending.sql
\ir _record_migration.sql

\set file 001_states \set sha256 4ac5e82745daf01836bbd87095ec82b7d34c4e9cf878e852ab826619a53099f6 \ir apply.sql
\set file 002_trees \set sha256 25567a6cbdc8fd84c12ffc1d7e625f963840f654b1063ddfcce0402be2ed9f93 \ir apply.sql
\set file 003_matrix \set sha256 437662f80a4db4741582c65a2f681474f4e49758c9388738cb460a53730f817e \ir apply.sql
\set file 004_notices \set sha256 914f01469eb3b75ba7686e38d6f9b26e9f5e15f593f03c1232ed201b72fc307f \ir apply.sql
\set file 005_policies \set sha256 3e9f0bd28c9bd896dff43d1c294c21eade53b4223d8a58e511bad66cd84f59a9 \ir apply.sql
\set file 006_row_types \set sha256 60923990d6df45eff9081d053ff41f353f89ee8a430495871ad40b16c010a09c \ir apply.sql
\set file 007_refs \set sha256 33002c4ef7925daac355819c203ddfff6d34671f427a3f1a560eab0c3979371d \ir apply.sql
\set file 008_topics \set sha256 a4acb7140c2c7783e9f7b5de23470d1a1c856872550a22c5fd83f66501f22da8 \ir apply.sql
\set file 009_jobs \set sha256 91e16792b863d66a7a0ddf0bc0e837f9162329632cd0e1217aafc5991cb4a681 \ir apply.sql
\set file 010_registry \set sha256 a3d7dbd123dd2fab196efe9d854869f1d2c4e688dd1ff0e443f781c32e6093f8 \ir apply.sql
\set file 011_entities \set sha256 be39c1fb17a10717ec697543455afe643873e25287531546ebf200251e399dfb \ir apply.sql
\set file 012_warehouse \set sha256 b62be92c66785ffe8c9cef64a8c97cb63dd5dc32b638c4db90de70428f0b287c \ir apply.sql
\set file 013_dead_letters \set sha256 f6c0e8e90b19f0017f7153b927b5daa9210f7d1cbd711c1275bc4e4a82dc3ac1 \ir apply.sql
\set file 014_initial_loads \set sha256 decf3b42f37b77edbc9e9529adbd360553618e17025981a62fe1f622e62c8609 \ir apply.sql
\set file 015_fresh_rows \set sha256 3b647e282f6bea3e9b1ceaf6af04a653806a11307a4cb8098c659770a1dec051 \ir apply.sql
\set file 016_loads \set sha256 06499557c6eef34f7c2a249b33d02cc233ecef9eb50f6603e3d6f44c3987065b \ir apply.sql
\set file 017_connectors \set sha256 1efd668b232aade320bdaeca17e615e99f4457a110d9c890e07409d3ef81e377 \ir apply.sql
\set file 018_decisions \set sha256 3e26eb3ea9086fc072391433a4022631fddd1c13f38b7000d8788ac8b3a23b70 \ir apply.sql
\set file 019_progress \set sha256 ee57f076e59513b0da7324fcf154972324ac6b74892779e8b6a7103ce07c422d \ir apply.sql
\set file 020_early_databases \set sha256 a38a9704789bf012cd6ddd5fa117e75e79e2ada359a2b74dda606a6cd682b401 \ir apply.sql
\set file 021_state_reasons \set sha256 dfd65c4e8ad95f1c7d1689978b751feeddb9cccff54b4a9fd63889681127c28b \ir apply.sql
