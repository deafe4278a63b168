"""Where the bytes are: one table's files by URI. Knows nothing of Hudi."""

from hudictl.storage.base import ODD as ODD
from hudictl.storage.base import DeleteOutcome as DeleteOutcome
from hudictl.storage.base import Ended as Ended
from hudictl.storage.base import Exclusive as Exclusive
from hudictl.storage.base import FileStatus as FileStatus
from hudictl.storage.base import Folders as Folders
from hudictl.storage.base import KeyOrder as KeyOrder
from hudictl.storage.base import Leases as Leases
from hudictl.storage.base import Storage as Storage
from hudictl.storage.base import delete_all as delete_all
from hudictl.storage.base import end_writing as end_writing
from hudictl.storage.base import entries_of as entries_of
from hudictl.storage.base import files_below as files_below
from hudictl.storage.base import inside as inside
from hudictl.storage.base import one_name as one_name
from hudictl.storage.base import pieces_of as pieces_of
from hudictl.storage.base import read_whole as read_whole
from hudictl.storage.base import whole_path as whole_path
from hudictl.storage.uri import HDFS as HDFS
from hudictl.storage.uri import elsewhere as elsewhere
from hudictl.storage.uri import first_elsewhere as first_elsewhere
from hudictl.storage.uri import is_hdfs as is_hdfs
from hudictl.storage.uri import kind_of as kind_of
from hudictl.storage.uri import local_path as local_path
from hudictl.storage.uri import overlap as overlap
from hudictl.storage.uri import without_name_node as without_name_node
