"""What the tests of lock share with others."""

from hudictl.table.locks.config import FILE_SYSTEM

LOCKED = ("--hoodie-conf", f"hoodie.write.lock.provider={FILE_SYSTEM}")
