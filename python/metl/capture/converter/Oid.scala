package metl.capture

/** Type oids of PostgreSQL; those of built-in types are the same in every database. */
private object Oid {
  val Date = 1082
  val Numeric = 1700
  val Money = 790
  val Bit = 1560
  val Varbit = 1562
  val Bpchar = 1042
  val Inet = 869

  /** point, lseg, path, box, polygon, line, circle: the driver formats their numbers as Java does. */
  val Geometric = Set(600, 601, 602, 603, 604, 628, 718)

  /** Types that Debezium carries exactly, as numbers, text or one of its own types: bool, bytea, "char", int8, int2, int4,
    * text, oid, json, xml, float4, float8, macaddr8, cidr, macaddr, varchar, time, timestamp, timestamptz, interval,
    * timetz, uuid, tsvector, jsonb, and the ranges int4, num, ts, tstz, date, int8. */
  val Exact = Set(16, 17, 18, 20, 21, 23, 25, 26, 114, 142, 700, 701, 774, 650, 829, 1043, 1083, 1114, 1184, 1186,
    1266, 2950, 3614, 3802, 3904, 3906, 3908, 3910, 3912, 3926)

  /** Arrays whose elements to_jsonb writes as they are: int2, int4, int8, float4, float8, numeric. */
  val NumberArrays = Set(1005, 1007, 1016, 1021, 1022, 1231)
  val BooleanArray = 1000
  val JsonArrays = Set(199, 3807)
  val TimestampArray = 1115
  val TimestamptzArray = 1185
  val BoxArray = 1020

  /** Not created by `create type`. */
  def isBuiltIn(oid: Int): Boolean = oid < 16384
}
