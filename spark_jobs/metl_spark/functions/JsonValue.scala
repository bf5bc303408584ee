package metl

import java.util.Arrays

import org.apache.spark.sql.api.java.UDF1

/** Bytes that are exactly one JSON value, without whitespace around it; null if they are not. */
class JsonValue extends UDF1[Array[Byte], Array[Byte]] {
  override def call(bytes: Array[Byte]): Array[Byte] = {
    if (bytes == null) return null
    val begin = Json.space(bytes, 0)
    val end = Json.value(bytes, begin)
    if (end == Json.Malformed || Json.space(bytes, end) != bytes.length) null
    else if (begin == 0 && end == bytes.length) bytes
    else Arrays.copyOfRange(bytes, begin, end)
  }
}
