"""The phases of a restore or rollback. docs/restore-order.md says why they come in this order."""

from enum import Enum


class Phase(Enum):
    """A phase: its place in the order, and the label that progress shows."""

    PREPARE = (1, "prepare")
    RETIRE_METADATA_TABLE = (2, "take the metadata table out of use")
    WRITE_ROLLBACK_PLANS = (3, "write rollback plans")
    UNPUBLISH = (4, "un-publish instants")
    UNPUBLISH_ONE = (4, "un-publish the instant")
    DELETE_FILES = (5, "delete files")
    VERIFY = (6, "verify")
    REMOVE_INSTANTS = (7, "remove instants")
    ROLL_BACK_METADATA_TABLE = (8, "roll the metadata table back")
    PUBLISH_RESTORE = (9, "publish the restore")
    PUBLISH_ROLLBACK = (9, "publish the rollback")

    @property
    def label(self) -> str:
        return self.value[1]

    @property
    def after_unpublishing(self) -> bool:
        """Whether readers no longer see the instants when the phase begins."""
        return self.value[0] > Phase.UNPUBLISH.value[0]
