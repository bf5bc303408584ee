-- The generalized types and what they accept: Kafka Connect, Debezium, Avro, JSON Schema and SQL names.
insert into metl.type (type, description) values
('integer', 'Whole numbers of any size.'),
('decimal', 'Exact numbers with a fraction, money among them.'),
('float', 'Approximate numbers, as measured.'),
('boolean', 'True or false.'),
('string', 'Text of any length.'),
('bytes', 'Binary data.'),
('date', 'A day of the calendar.'),
('time', 'A time of day.'),
('timestamp', 'A moment.'),
('interval', 'A length of time.'),
('uuid', 'A universally unique identifier.'),
('json', 'A JSON document.'),
('object', 'A structure with named fields.'),
('array', 'A list of values.'),
('geometry', 'A shape in space.'),
('any', 'A value of any type.')
on conflict do nothing;

insert into metl.accepted_type (source_type, type)
select lower(source_type), generalized.type
from (values
    ('integer', array[
        'integer', 'int', 'int2', 'int4', 'int8', 'int16', 'int32', 'int64', 'long', 'short', 'byte',
        'smallint', 'bigint', 'tinyint', 'mediumint', 'serial', 'bigserial', 'smallserial', 'year', 'oid',
        'int unsigned', 'bigint unsigned', 'smallint unsigned', 'tinyint unsigned', 'mediumint unsigned',
        'io.debezium.time.year'
    ]),
    ('decimal', array[
        'decimal', 'numeric', 'number', 'money', 'big_decimal', 'big-decimal',
        'org.apache.kafka.connect.data.decimal', 'io.debezium.data.variablescaledecimal'
    ]),
    ('float', array['float', 'float4', 'float8', 'float32', 'float64', 'double', 'double precision', 'real']),
    ('boolean', array['boolean', 'bool']),
    ('string', array[
        'string', 'text', 'varchar', 'character varying', 'char', 'character', 'bpchar', 'name', 'citext', 'enum',
        'xml', 'inet', 'cidr', 'macaddr', 'macaddr8', 'tsvector', 'set', 'varchar2', 'nvarchar2', 'nvarchar',
        'nchar', 'clob', 'tinytext', 'mediumtext', 'longtext',
        'io.debezium.data.enum', 'io.debezium.data.enumset', 'io.debezium.data.xml', 'io.debezium.data.ltree',
        'io.debezium.data.tsvector'
    ]),
    ('bytes', array[
        'bytes', 'bytea', 'binary', 'varbinary', 'blob', 'tinyblob', 'mediumblob', 'longblob', 'fixed', 'bit',
        'varbit', 'bit varying',
        'io.debezium.data.bits'
    ]),
    ('date', array['date', 'io.debezium.time.date', 'io.debezium.time.isodate', 'org.apache.kafka.connect.data.date']),
    ('time', array[
        'time', 'timetz', 'time without time zone', 'time with time zone', 'time-millis', 'time-micros',
        'io.debezium.time.time', 'io.debezium.time.microtime', 'io.debezium.time.nanotime',
        'io.debezium.time.zonedtime', 'io.debezium.time.isotime', 'org.apache.kafka.connect.data.time'
    ]),
    ('timestamp', array[
        'timestamp', 'timestamptz', 'timestamp without time zone', 'timestamp with time zone', 'datetime', 'date-time',
        'timestamp-millis', 'timestamp-micros', 'timestamp-nanos',
        'local-timestamp-millis', 'local-timestamp-micros', 'local-timestamp-nanos',
        'io.debezium.time.isotimestamp', 'io.debezium.time.timestamp', 'io.debezium.time.microtimestamp',
        'io.debezium.time.nanotimestamp', 'io.debezium.time.zonedtimestamp', 'org.apache.kafka.connect.data.timestamp'
    ]),
    ('interval', array[
        'interval', 'duration', 'io.debezium.time.microduration', 'io.debezium.time.nanoduration',
        'io.debezium.time.interval'
    ]),
    ('uuid', array['uuid', 'io.debezium.data.uuid']),
    ('json', array['json', 'jsonb', 'io.debezium.data.json', 'hstore']),
    ('object', array['object', 'struct', 'record', 'map', 'io.debezium.data.vector.sparsedoublevector']),
    ('array', array[
        'array', 'list', 'io.debezium.data.vector.floatvector', 'io.debezium.data.vector.doublevector'
    ]),
    ('geometry', array[
        'geometry', 'geography', 'point', 'io.debezium.data.geometry.geometry',
        'io.debezium.data.geometry.geography', 'io.debezium.data.geometry.point'
    ]),
    ('any', array['any'])
) as generalized (type, source_types)
cross join unnest(generalized.source_types) as source_type
on conflict do nothing;
