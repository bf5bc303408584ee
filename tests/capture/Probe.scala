package metl.capture

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

/** Converts numbers and arrays from standard input, a line each. */
object Probe {
  def main(arguments: Array[String]): Unit =
    scala.io.Source.fromInputStream(System.in).getLines().foreach { line =>
      println(line.split(' ') match {
        case Array("float", bits) => Floats.asPostgres(java.lang.Double.longBitsToDouble(bits.toLong).toString)
        case Array("array", oid, literal) =>
          val text = PostgresArray.toJson(new String(Base64.getDecoder.decode(literal), UTF_8), oid.toInt)
          Base64.getEncoder.encodeToString(text.getBytes(UTF_8))
        case other => throw new IllegalArgumentException(other.mkString(" "))
      })
    }
}
