"""What every job has: options, session, Kafka, the line to the database, supervision."""
