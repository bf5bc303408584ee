package metl.capture

/** An array as PostgreSQL writes it, {{1,2},{3,NULL}}, as the JSON that to_jsonb makes of it. */
private object PostgresArray {
  def json(literal: String, oid: Int): String = {
    // Bounds that do not begin at 1 come before it, as [2:4]={…}; to_jsonb does not have them either.
    val begin = literal.indexOf('{')
    if (begin < 0) throw new IllegalArgumentException(s"$literal is not an array of PostgreSQL")
    val written = new StringBuilder(literal.length + 2)
    new Reader(literal, begin, if (oid == Oid.BoxArray) ';' else ',', element(oid, _), written).array()
    written.toString
  }

  private def element(oid: Int, text: String): String =
    if (Oid.NumberArrays(oid) && text.last.isDigit) text
    else if (oid == Oid.BooleanArray) if (text == "t") "true" else "false"
    else if (Oid.JsonArrays(oid)) text
    else if (oid == Oid.TimestampArray) quoted(text.replaceFirst(" (?=[0-9])", "T"))
    else if (oid == Oid.TimestamptzArray) quoted(withMinutes(text.replaceFirst(" (?=[0-9])", "T")))
    else quoted(text)

  /** to_jsonb writes a zone as +00:00, PostgreSQL's text as +00. */
  private def withMinutes(moment: String): String = moment.replaceFirst("([+-][0-9]{2})( BC)?$", "$1:00$2")

  private def quoted(text: String): String = {
    val written = new StringBuilder(text.length + 2).append('"')
    text.foreach {
      case '"'               => written.append("\\\"")
      case '\\'              => written.append("\\\\")
      case low if low < ' '  => written.append(f"\\u${low.toInt}%04x")
      case other             => written.append(other)
    }
    written.append('"').toString
  }

  private class Reader(
      literal: String, begin: Int, delimiter: Char, element: String => String, written: StringBuilder
  ) {
    private var at = begin

    def array(): Unit = {
      at += 1
      written.append('[')
      while (literal(at) != '}') {
        if (literal(at) == delimiter) {
          at += 1
          written.append(',')
        }
        literal(at) match {
          case '{' => array()
          case '"' => written.append(element(quotedText()))
          case _ =>
            val text = plainText()
            written.append(if (text == "NULL") "null" else element(text))
        }
      }
      at += 1
      written.append(']')
    }

    private def plainText(): String = {
      val from = at
      while (literal(at) != delimiter && literal(at) != '}') at += 1
      literal.substring(from, at)
    }

    private def quotedText(): String = {
      val text = new StringBuilder
      at += 1
      while (literal(at) != '"') {
        if (literal(at) == '\\') at += 1
        text.append(literal(at))
        at += 1
      }
      at += 1
      text.toString
    }
  }
}
