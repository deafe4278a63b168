"""A real HDFS for tests: Hadoop's own mini cluster, out of Maven."""
