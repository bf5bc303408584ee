package metl.capture

import java.math.BigDecimal
import java.time.LocalDate
import java.util.{BitSet, Calendar, GregorianCalendar, Properties}

import io.debezium.spi.converter.{CustomConverter, RelationalColumn}
import org.apache.kafka.connect.data.SchemaBuilder

/** Preserves values of PostgreSQL that Debezium's own converters alter or drop.
  *
  * Types that Debezium carries exactly stay with it. Others are sent as PostgreSQL's own text, under a schema named
  * after the SQL type where METL needs it; arrays as JSON, as to_jsonb would write them; dates keep their era. Types
  * are identified by oid, which for a domain is that of its base type. */
class ExactValues extends CustomConverter[SchemaBuilder, RelationalColumn] {
  import ExactValues._

  override def configure(settings: Properties): Unit = ()

  override def converterFor(
      column: RelationalColumn,
      registration: CustomConverter.ConverterRegistration[SchemaBuilder]
  ): Unit = {
    def register(schema: SchemaBuilder, convert: AnyRef => Any): Unit = {
      // For a deleted row the WAL has only the key: other columns are null, even those declared not null. Debezium
      // itself makes all columns that it converts optional.
      if (!column.isOptional) schema.optional()
      registration.register(
        schema,
        value =>
          if (value == null) null
          else if (value.getClass == classOf[Object]) Unavailable
          else convert(value).asInstanceOf[AnyRef]
      )
    }

    column.nativeType match {
      case Oid.Date                                     => register(dateSchema, days)
      case Oid.Numeric | Oid.Money                      => register(textNamed("numeric"), number)
      case Oid.Bit | Oid.Varbit                         => register(text, bits(_, column.length.orElse(1)))
      case Oid.Bpchar                                   => register(textNamed("bpchar"), _.toString)
      case Oid.Inet                                     => register(textNamed("inet"), _.toString)
      case oid if Oid.Geometric(oid)                    => register(text, value => Floats.asPostgres(value.toString))
      case oid if isArray(column) && Oid.isBuiltIn(oid) => register(json, value => PostgresArray.toJson(value.toString, oid))
      case oid if isOpaque(column, oid)                 => register(text, _.toString)
      case _                                            =>
    }
  }
}

object ExactValues {
  /** Placeholder of an unchanged TOASTed value, which PostgreSQL does not log. Debezium marks it by an Object. */
  private val Unavailable = "__debezium_unavailable_value"

  private def text: SchemaBuilder = SchemaBuilder.string()
  private def textNamed(name: String): SchemaBuilder = SchemaBuilder.string().name(name)
  private def json: SchemaBuilder = textNamed("io.debezium.data.Json").version(1)
  private def dateSchema: SchemaBuilder = SchemaBuilder.int32().name("io.debezium.time.Date").version(1)

  private def isArray(column: RelationalColumn): Boolean = column.jdbcType == java.sql.Types.ARRAY

  /** Whether Debezium drops the type, or would send only its bytes. Enums are exact already. */
  private def isOpaque(column: RelationalColumn, oid: Int): Boolean =
    if (Oid.isBuiltIn(oid)) !Oid.Exact(oid)
    else column.jdbcType != java.sql.Types.VARCHAR && !ExactExtensions(column.typeName)

  /** Extension types that Debezium supports by name. */
  private val ExactExtensions =
    Set("citext", "geography", "geometry", "halfvec", "hstore", "isbn", "ltree", "sparsevec", "vector")

  /** Days since 1970-01-01. Snapshots have java.sql.Date, whose own toLocalDate loses the era and infinity. */
  private def days(value: AnyRef): Int = value match {
    case day: LocalDate     => Math.toIntExact(day.toEpochDay)
    case day: java.sql.Date => daysOf(day)
    case default: Integer   => default
    case other              => throw new IllegalArgumentException(s"$other is not a date but a ${other.getClass}")
  }

  // Infinite dates as Debezium's change stream has them, outside of PostgreSQL's range.
  private val Infinity = LocalDate.parse("-5877611-06-21").toEpochDay
  private val MinusInfinity = LocalDate.parse("-5877611-06-22").toEpochDay
  // org.postgresql.PGStatement.DATE_POSITIVE_INFINITY and DATE_NEGATIVE_INFINITY, in milliseconds.
  private val InfiniteMillis = 9223372036825200000L
  private val MinusInfiniteMillis = -9223372036832400000L

  private def daysOf(day: java.sql.Date): Int =
    if (day.getTime == InfiniteMillis) Math.toIntExact(Infinity)
    else if (day.getTime == MinusInfiniteMillis) Math.toIntExact(MinusInfinity)
    else {
      val fields = new GregorianCalendar
      fields.setTime(day)
      val year = fields.get(Calendar.YEAR)
      val isBc = fields.get(Calendar.ERA) == GregorianCalendar.BC
      val month = fields.get(Calendar.MONTH) + 1
      Math.toIntExact(LocalDate.of(if (isBc) 1 - year else year, month, fields.get(Calendar.DAY_OF_MONTH)).toEpochDay)
    }

  /** All digits, never an exponent; Debezium's names of special values as PostgreSQL spells them. */
  private def number(value: AnyRef): String = value.toString match {
    case "NAN"               => "NaN"
    case "POSITIVE_INFINITY" => "Infinity"
    case "NEGATIVE_INFINITY" => "-Infinity"
    case digits              => new BigDecimal(digits).toPlainString
  }

  /** From the first bit to the last. Only a column's default value comes as bytes, last bit first, or as Boolean. */
  private def bits(value: AnyRef, length: Int): String = value match {
    case bytes: Array[Byte] =>
      val set = BitSet.valueOf(bytes)
      (length - 1 to 0 by -1).map(bit => if (set.get(bit)) '1' else '0').mkString
    case bit: java.lang.Boolean => if (bit) "1" else "0"
    case text                   => text.toString
  }
}
