package metl

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.api.java.UDF1

/** A JSON value as text: a string without quotes and escapes, null for null, anything else as it is written. */
class JsonText extends UDF1[Array[Byte], String] {
  override def call(value: Array[Byte]): String =
    if (value == null) null
    else if (value(0) == '"') Text.of(value, 0, value.length)
    else if (value(0) == 'n') null
    else new String(value, UTF_8)
}
