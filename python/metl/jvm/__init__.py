"""Java on this machine: the runtime, the jars of ivy.xml, Scala compilation, Spark sessions."""
