package metl.capture

/** Converts an array literal of PostgreSQL, {{1,2},{3,NULL}}, to the JSON that to_jsonb would give. */
private object PostgresArray {
  def toJson(literal: String, oid: Int): String = {
    // Bounds other than 1 precede the elements, as [2:4]={…}; to_jsonb drops them, too.
    val begin = literal.indexOf('{')
    if (begin < 0) throw new IllegalArgumentException(s"$literal is not an array of PostgreSQL")
    val output = new StringBuilder(literal.length + 2)
    new Reader(literal, begin, if (oid == Oid.BoxArray) ';' else ',', element(oid, _), output).array()
    output.toString
  }

  private def element(oid: Int, text: String): String =
    if (Oid.NumberArrays(oid) && text.last.isDigit) text
    else if (oid == Oid.BooleanArray) if (text == "t") "true" else "false"
    else if (Oid.JsonArrays(oid)) text
    else if (oid == Oid.TimestampArray) quoted(text.replaceFirst(" (?=[0-9])", "T"))
    else if (oid == Oid.TimestamptzArray) quoted(withMinutes(text.replaceFirst(" (?=[0-9])", "T")))
    else quoted(text)

  /** to_jsonb writes a zone as +00:00, PostgreSQL's text as +00. */
  private def withMinutes(timestamp: String): String = timestamp.replaceFirst("([+-][0-9]{2})( BC)?$", "$1:00$2")

  private def quoted(text: String): String = {
    val output = new StringBuilder(text.length + 2).append('"')
    text.foreach {
      case '"'                      => output.append("\\\"")
      case '\\'                     => output.append("\\\\")
      case control if control < ' ' => output.append(f"\\u${control.toInt}%04x")
      case other                    => output.append(other)
    }
    output.append('"').toString
  }

  private class Reader(
      literal: String, begin: Int, delimiter: Char, element: String => String, output: StringBuilder
  ) {
    private var position = begin

    def array(): Unit = {
      position += 1
      output.append('[')
      while (literal(position) != '}') {
        if (literal(position) == delimiter) {
          position += 1
          output.append(',')
        }
        literal(position) match {
          case '{' => array()
          case '"' => output.append(element(quotedText()))
          case _ =>
            val text = plainText()
            output.append(if (text == "NULL") "null" else element(text))
        }
      }
      position += 1
      output.append(']')
    }

    private def plainText(): String = {
      val start = position
      while (literal(position) != delimiter && literal(position) != '}') position += 1
      literal.substring(start, position)
    }

    private def quotedText(): String = {
      val text = new StringBuilder
      position += 1
      while (literal(position) != '"') {
        if (literal(position) == '\\') position += 1
        text.append(literal(position))
        position += 1
      }
      position += 1
      text.toString
    }
  }
}
