"""How large a file of each kind may be, in bytes: what is larger is no file of Hudi or hudictl, and is not read."""

DECOMPRESSED_BYTES = 16 * 1024 * 1024
"""Of a compressed block of an Avro file. Hudi compresses none of its instants: their sizes are those of the files."""

INSTANT_BYTES = 2**31 - 1
"""Of an instant's file, or a log of the archive: commits of 1 GiB are real. Java's arrays end here."""

PLAN_BYTES = 2**31 - 1
"""Of a saved plan: it may name ten million files."""

RECORD_BYTES = 256 * 1024 * 1024
"""Of hudictl's own records, manifests, definitions of indexes, files of markers."""

PROPERTIES_BYTES = 4 * 1024 * 1024
"""Of files of settings, and of those that describe a partition."""
