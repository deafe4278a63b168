"""Spark beyond one JVM: a standalone cluster of one master and two workers, and local-cluster."""
