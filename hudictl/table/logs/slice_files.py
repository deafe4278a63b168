"""What readers merge of a file slice, found by the headers of its logs: the input of tasks that read the contents."""

from collections.abc import Sequence

from hudictl.errors import Unsupported
from hudictl.formats.log_blocks import CDC_DATA, DELETE
from hudictl.formats.log_contents import DATA_BLOCKS
from hudictl.formats.record_merge import in_merge_order
from hudictl.index_workers import BlockAt, File, MergedSlice
from hudictl.table.files.slices import StoredFile
from hudictl.table.logs.reader import LogFile
from hudictl.table.logs.scan import CORRUPT_FATE, REPLACED, VALID, ScanRule, judged_blocks
from hudictl.table.table import Table


def slice_files(table: Table, files: Sequence[StoredFile], scan: ScanRule, notes: list[str]) -> MergedSlice:
    """The base file of a slice, and the blocks of its logs that a reader merges, in the order of the merge.

    Args:
        files: those that are read together, in reading order. Change logs do not count.
        notes: gets the damage in logs, which readers skip.

    Raises:
        Unsupported: change data in a normal log.
        Conflict: a log disappeared meanwhile.
        StorageFailed.
    """
    base = next((File(file.path, file.size or 0) for file in files if file.data.is_base), None)
    logs = [
        LogFile(table.storage, table, file.partition, file.data.name, file.size or 0)
        for file in files
        if not file.data.is_base and not file.data.cdc
    ]
    found = []
    for judged in judged_blocks(logs, {log.name for log in logs}, scan):
        block = judged.block
        if judged.fate.name == CORRUPT_FATE:
            notes.append(f"readers skip damage in {judged.log.uri} at {block.offset:,}: {block.damage}")
        if block.block_type == CDC_DATA:
            raise Unsupported(f"{judged.log.uri} has change data in a normal log: no Hudi release reads that")
        merged = block.block_type == DELETE or block.block_type in DATA_BLOCKS
        if merged and judged.fate.name in (VALID, REPLACED):
            found.append(judged)
    order = in_merge_order([judged.block for judged in found], scan.release)
    blocks = (found[number] for number in order)
    return MergedSlice(
        table.storage,
        base,
        tuple(BlockAt(File(judged.log.path, judged.log.size), judged.block.offset) for judged in blocks),
    )
