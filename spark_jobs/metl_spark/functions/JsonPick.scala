package metl

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.api.java.UDF2

/** The values of some members of an object, byte for byte, in the order of the names, which are separated by spaces;
  * null for a missing member. Null if the bytes are not exactly one JSON object. */
class JsonPick extends UDF2[Array[Byte], String, Array[Array[Byte]]] {
  override def call(document: Array[Byte], names: String): Array[Array[Byte]] = {
    val members = Members.of(document)
    if (members == null) return null
    val keys = JsonPick.strings(names)
    val values = new Array[Array[Byte]](keys.length)
    var index = 0
    while (index < keys.length) {
      val member = members.find(keys(index), 0, keys(index).length)
      if (member >= 0) values(index) = Arrays.copyOfRange(document, members.begin(member), members.end(member))
      index += 1
    }
    values
  }
}

private object JsonPick {
  // A plan has the same few names for every message.
  private val Cache = new ConcurrentHashMap[String, Array[Array[Byte]]]

  /** The names as JSON strings. */
  def strings(names: String): Array[Array[Byte]] =
    Cache.computeIfAbsent(names, _.split(' ').map(name => s"\"$name\"".getBytes(UTF_8)))
}
