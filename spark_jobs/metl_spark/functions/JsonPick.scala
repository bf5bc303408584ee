package metl

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.api.java.UDF2

/** The values of some members of an object, byte for byte, in the order of the names, which spaces part; null where
  * there is none. Null if the bytes are not one whole JSON object. */
class JsonPick extends UDF2[Array[Byte], String, Array[Array[Byte]]] {
  override def call(document: Array[Byte], names: String): Array[Array[Byte]] = {
    val members = Members.of(document)
    if (members == null) return null
    val wanted = JsonPick.strings(names)
    val found = new Array[Array[Byte]](wanted.length)
    var index = 0
    while (index < wanted.length) {
      val member = members.find(wanted(index), 0, wanted(index).length)
      if (member >= 0) found(index) = Arrays.copyOfRange(document, members.begin(member), members.end(member))
      index += 1
    }
    found
  }
}

private object JsonPick {
  // A plan names the same few for every message.
  private val Known = new ConcurrentHashMap[String, Array[Array[Byte]]]

  /** The names as JSON strings. */
  def strings(names: String): Array[Array[Byte]] =
    Known.computeIfAbsent(names, _.split(' ').map(name => s"\"$name\"".getBytes(UTF_8)))
}
