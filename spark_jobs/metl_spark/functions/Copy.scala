package metl

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.sql.{Connection, Driver}
import java.util.Properties

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic.Dataset

/** PostgreSQL's COPY from every executor at once, in its binary format: each column is the bytes of a text.
  *
  * The driver is on the classpath of jobs, not of the compiler: what JDBC lacks is called by reflection. */
object Copy {
  private val Chunk = 1 << 18

  def into(rows: Dataset[_], url: String, properties: java.util.Map[String, String], statement: String): Unit = {
    // A serializable copy.
    val options = new java.util.HashMap[String, String](properties)
    // Spark's internal rows: converting them to objects would be wasted.
    rows.queryExecution.toRdd.foreachPartition(part => if (part.hasNext) copy(part, url, options, statement))
  }

  private def copy(rows: Iterator[InternalRow], url: String, options: java.util.Map[String, String], statement: String): Unit = {
    val loader = Thread.currentThread.getContextClassLoader
    val driver = Class.forName("org.postgresql.Driver", true, loader).getDeclaredConstructor().newInstance()
    val properties = new Properties
    properties.putAll(options)
    val connection = driver.asInstanceOf[Driver].connect(url, properties)
    try {
      val copying = begin(connection, statement)
      val write = method(copying, "writeToCopy", 3)
      val buffer = new ByteArrayOutputStream(2 * Chunk)
      val out = new DataOutputStream(buffer)

      def send(): Unit = {
        write.invoke(copying, buffer.toByteArray, Int.box(0), Int.box(buffer.size))
        buffer.reset()
      }

      out.write("PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1"))
      out.writeLong(0)
      rows.foreach { row =>
        out.writeShort(row.numFields)
        for (place <- 0 until row.numFields) {
          if (row.isNullAt(place)) out.writeInt(-1)
          else {
            val bytes = row.getBinary(place)
            out.writeInt(bytes.length)
            out.write(bytes)
          }
        }
        if (buffer.size >= Chunk) send()
      }
      out.writeShort(-1)
      send()
      method(copying, "endCopy", 0).invoke(copying)
    } finally connection.close()
  }

  private def begin(connection: Connection, statement: String): AnyRef = {
    val manager = method(connection, "getCopyAPI", 0).invoke(connection)
    manager.getClass.getMethod("copyIn", classOf[String]).invoke(manager, statement)
  }

  private def method(target: AnyRef, name: String, parameters: Int): java.lang.reflect.Method = {
    val method = target.getClass.getMethods.find { each =>
      each.getName == name && each.getParameterCount == parameters
    }.get
    method.setAccessible(true)
    method
  }
}
