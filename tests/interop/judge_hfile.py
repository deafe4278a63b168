"""HFiles read and written by the libraries of the real Hudi, HBase's and its own, and metadata tables of them."""

from collections.abc import Iterator
from typing import Any

from judge_java import engine, hudi, java_list, release, storage, storage_conf, uri

Pairs = list[list[str]]
"""Keys and values, in hexadecimal."""


def hbase() -> Any:
    """HBase's packages, which Hudi's bundles carry under another name up to 1.0.2."""
    return hudi().org.apache.hudi.org.apache.hadoop.hbase


def read_hfile(file: str, library: str, keys: list[str]) -> dict[str, Any]:
    """All entries in the order of the file, and those of the named keys (ascending) by a seek for each."""
    return read_by_hbase(file, keys) if library == "hbase" else read_by_hudi(file, keys)


def read_by_hbase(file: str, keys: list[str]) -> dict[str, Any]:
    """With its library as Hudi opens it."""
    conf = storage_conf().unwrap()
    path = hudi().org.apache.hadoop.fs.Path(f"file://{file}")
    reader = hbase().io.hfile.HFile.createReader(path.getFileSystem(conf), path, conf)
    try:
        scanner = reader.getScanner(False, False)

        def entries() -> Iterator[list[str]]:
            more = scanner.seekTo()
            while more:
                yield cell(scanner.getCell())
                more = scanner.next()

        def seek(key: str) -> bool:
            return bool(scanner.seekTo(hbase().KeyValue(bytes.fromhex(key), None, None, b"")) == 0)

        return {"entries": list(entries()), "found": [cell(scanner.getCell()) for key in keys if seek(key)]}
    finally:
        reader.close()


def cell(found: Any) -> list[str]:
    """Row and value."""
    utils = hbase().CellUtil
    return [bytes(utils.cloneRow(found)).hex(), bytes(utils.cloneValue(found)).hex()]


def read_by_hudi(file: str, keys: list[str]) -> dict[str, Any]:
    """With Hudi's own reader."""
    reader = open_by_hudi(file)
    try:
        entries = []
        more = reader.seekTo()
        while more:
            entries.append(pair(reader.getKeyValue().get()))
            more = reader.next()
        found = []
        if reader.seekTo():
            for key in keys:
                if reader.seekTo(hudi().org.apache.hudi.io.hfile.UTF8StringKey(bytes.fromhex(key))) == 0:
                    found.append(pair(reader.getKeyValue().get()))
        return {"entries": entries, "found": found}
    finally:
        reader.close()


def open_by_hudi(file: str) -> Any:
    """Hudi's reader over the file's bytes; 1.2 has the stream in another package."""
    with open(file, "rb") as opened:
        body = opened.read()
    buffer = hudi().java.nio.ByteBuffer.wrap(body)
    io = hudi().org.apache.hudi.io
    package = io if release() >= (1, 2) else hudi().org.apache.hudi.common.util.io
    stream = io.ByteArraySeekableDataInputStream(package.ByteBufferBackedInputStream(buffer))
    return io.hfile.HFileReaderImpl(stream, len(body))


def pair(found: Any) -> list[str]:
    """Row and value."""
    body = bytes(found.getBytes())
    row, value = found.getKeyContentOffset(), found.getValueOffset()
    return [
        body[row : row + found.getKeyContentLength()].hex(),
        body[value : value + found.getValueLength()].hex(),
    ]


def write_hfile(file: str, entries: Pairs, codec: str, block_bytes: int, index_bytes: int) -> None:
    """Writes with the library that the release writes with; Hudi's own has one level of index whatever its bytes."""
    if release() >= (1, 2):
        write_by_hudi(file, entries, codec, block_bytes)
    else:
        write_by_hbase(file, entries, codec, block_bytes, index_bytes)


def write_by_hudi(file: str, entries: Pairs, codec: str, block_bytes: int) -> None:
    """With its checksums of nothing, which are all it knows; keys are text."""
    io = hudi().org.apache.hudi.io
    codec_of = io.compress.CompressionCodec.valueOf({"GZ": "GZIP"}.get(codec, codec))
    context = io.hfile.HFileContext.builder().blockSize(block_bytes).compressionCodec(codec_of).build()
    writer = io.hfile.HFileWriterImpl(context, hudi().java.io.FileOutputStream(file))
    for key, value in entries:
        writer.append(bytes.fromhex(key).decode(), bytes.fromhex(value))
    writer.appendMetaInfo("meta", b"block")
    writer.appendFileInfo("info", b"fact")
    writer.close()


def write_by_hbase(file: str, entries: Pairs, codec: str, block_bytes: int, index_bytes: int) -> None:
    """As Hudi 0.15 and 1.0 do, with an index block small enough for several levels."""
    io = hbase().io
    conf = hudi().org.apache.hadoop.conf.Configuration(storage_conf().unwrap())
    conf.setInt("hfile.index.block.max.size", index_bytes)
    conf.setInt("hfile.index.block.min.entries", 2)
    path = hudi().org.apache.hadoop.fs.Path(f"file://{file}")
    comparator = hudi().org.apache.hudi.io.storage.HoodieHBaseKVComparator()
    context = io.hfile.HFileContextBuilder().withBlockSize(block_bytes).withCellComparator(comparator)
    context = context.withCompression(io.compress.Compression.Algorithm.valueOf(codec)).build()
    factory = io.hfile.HFile.getWriterFactoryNoCache(conf).withPath(path.getFileSystem(conf), path)
    writer = factory.withFileContext(context).create()
    for key, value in entries:
        writer.append(hbase().KeyValue(bytes.fromhex(key), None, None, bytes.fromhex(value)))
    writer.appendMetaBlock("meta", hudi().org.apache.hadoop.io.Text("block"))
    writer.appendFileInfo(b"info", b"fact")
    writer.close()


def listing(path: str) -> dict[str, dict[str, int]]:
    """The files that the metadata table lists, with their sizes, by partition path."""
    metadata = hudi().org.apache.hudi.metadata
    config = hudi().org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(True).build()
    table = metadata.HoodieBackedTableMetadata(engine(), storage(path), config, uri(path))
    try:
        found = {}
        for partition in java_list(table.getAllPartitionPaths()):
            folder = hudi().org.apache.hudi.storage.StoragePath("/".join(filter(None, (uri(path), partition))))
            files = java_list(table.getAllFilesInPartition(folder))
            found[partition] = {file.getPath().getName(): file.getLength() for file in files}
        return found
    finally:
        table.close()


def record_index_groups(cases: list[list[Any]]) -> list[int]:
    """How many file groups a record index is made with, of (records, least, most, growth, bytes in each); the records
    are more than 2 ** 31, which Java takes for a long by itself."""
    metadata = hudi().org.apache.hudi.metadata
    estimate, kind = (
        metadata.HoodieTableMetadataUtil.estimateFileGroupCount,
        metadata.MetadataPartitionType.RECORD_INDEX,
    )
    return [estimate(kind, _told(records), 48, *sizing) for records, *sizing in cases]


def _told(number: int) -> Any:
    """1.2 wants somebody to ask for the number."""
    if release() < (1, 2):
        return number
    java, forms = hudi().java.lang, hudi().java.lang.invoke
    told = forms.MethodHandles.constant(java.Class.forName("java.lang.Long"), number)
    return forms.MethodHandleProxies.asInterfaceInstance(java.Class.forName("java.util.function.Supplier"), told)
