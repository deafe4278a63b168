"""How large a file of each kind may be, in bytes: what is larger is no file of Hudi, and is not read."""

DECOMPRESSED_BYTES = 16 * 1024 * 1024
"""Of a compressed block of an Avro file. Hudi compresses none of its instants: their sizes are those of the files."""
