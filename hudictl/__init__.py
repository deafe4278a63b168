"""Administration of Apache Hudi tables, on Hudi's own files, without a JVM Hudi."""

__version__ = "0.1.0"
