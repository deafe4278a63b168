"""The writers' settings from the operator (names and defaults of 0.15.0 to 1.2.0)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite

from hudictl.errors import UsageError


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of Hudi's writers: its name, Hudi's default, and the other names that it has in some releases."""

    key: str
    default: str
    others: tuple[str, ...] = ()


SMALL_FILE_LIMIT = 104_857_600
"""Hudi's default of hoodie.parquet.small.file.limit, in bytes (0.15.0 to 1.2.0)."""
KEEP_MIN = Setting("hoodie.keep.min.commits", "20")
KEEP_MAX = Setting("hoodie.keep.max.commits", "30")
ARCHIVE_BEYOND_SAVEPOINT = Setting("hoodie.archive.beyond.savepoint", "false")
METADATA_ENABLE = Setting("hoodie.metadata.enable", "true")
METADATA_COMPACT_COMMITS = Setting("hoodie.metadata.compact.max.delta.commits", "10")
RECORD_INDEX_BYTES = Setting("hoodie.metadata.record.index.max.filegroup.size", "1073741824")
RECORD_INDEX_GROWTH = Setting("hoodie.metadata.record.index.growth.factor", "2.0")
RECORD_INDEX_LEAST = Setting(
    "hoodie.metadata.global.record.level.index.min.filegroup.count",
    "10",
    ("hoodie.metadata.record.index.min.filegroup.count",),
)
RECORD_INDEX_MOST = Setting(
    "hoodie.metadata.global.record.level.index.max.filegroup.count",
    "10000",
    ("hoodie.metadata.record.index.max.filegroup.count",),
)
CLEAN_POLICY = Setting("hoodie.clean.policy", "KEEP_LATEST_COMMITS", ("hoodie.cleaner.policy",))
CLEAN_COMMITS = Setting("hoodie.clean.commits.retained", "10", ("hoodie.cleaner.commits.retained",))
CLEAN_HOURS = Setting("hoodie.clean.hours.retained", "24", ("hoodie.cleaner.hours.retained",))
CLEAN_VERSIONS = Setting("hoodie.clean.fileversions.retained", "3", ("hoodie.cleaner.fileversions.retained",))
CLEAN_TRIGGER = Setting("hoodie.clean.trigger.max.commits", "1", ("hoodie.clean.max.commits",))
COMPACT_TRIGGER = Setting("hoodie.compact.inline.trigger.strategy", "NUM_COMMITS")
COMPACT_COMMITS = Setting("hoodie.compact.inline.max.delta.commits", "5")
COMPACT_SECONDS = Setting("hoodie.compact.inline.max.delta.seconds", "3600")
FAILED_WRITES_POLICY = Setting("hoodie.clean.failed.writes.policy", "EAGER", ("hoodie.cleaner.policy.failed.writes",))
CLUSTERING_UPDATES = Setting("hoodie.clustering.updates.strategy", "SparkRejectUpdateStrategy")
CONCURRENCY = Setting("hoodie.write.concurrency.mode", "SINGLE_WRITER")


@dataclass(frozen=True, slots=True)
class Used:
    """A setting that was used: ``given`` is False if the value is Hudi's default."""

    setting: str
    value: str
    given: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """The writers' settings from the operator, by Hudi's names. ``assume_defaults``: missing thresholds have Hudi's
    defaults, too. Other missing settings always have Hudi's defaults."""

    given: Mapping[str, str] = field(default_factory=dict)
    assume_defaults: bool = False

    def text(self, setting: Setting) -> str:
        """The specified value, else Hudi's default."""
        name = self._given_name(setting)
        return setting.default if name is None else self.given[name].strip()

    def number(self, setting: Setting) -> int:
        """Raises UsageError."""
        text = self.text(setting)
        if not text.isascii() or not text.isdigit():
            raise UsageError(f"{setting.key}={text}: not a whole number, 0 or more")
        return int(text)

    def fraction(self, setting: Setting) -> float:
        """Raises UsageError."""
        text = self.text(setting)
        with suppress(ValueError):
            if isfinite(number := float(text)):
                return number
        raise UsageError(f"{setting.key}={text}: not a number")

    def flag(self, setting: Setting) -> bool:
        return self.text(setting).lower() == "true"

    def word(self, setting: Setting) -> str:
        """One of Hudi's enumerations, in capitals."""
        return self.text(setting).upper()

    @property
    def cleans_eagerly(self) -> bool:
        """Whether a writer rolls back failed writes before it begins; several writers never do (0.15.0 to 1.2.0)."""
        return self.word(CONCURRENCY) == "SINGLE_WRITER" and self.word(FAILED_WRITES_POLICY) == "EAGER"

    def missing(self, *thresholds: Setting) -> tuple[str, ...]:
        """The names of settings that are neither specified nor assumed."""
        if self.assume_defaults:
            return ()
        return tuple(entry.key for entry in thresholds if self._given_name(entry) is None)

    def used(self, *settings: Setting) -> tuple[Used, ...]:
        """Some settings, by their specified names, with the origin of their values."""
        named = ((entry, self._given_name(entry)) for entry in settings)
        return tuple(Used(name or entry.key, self.text(entry), name is not None) for entry, name in named)

    def _given_name(self, setting: Setting) -> str | None:
        return next((name for name in (setting.key, *setting.others) if name in self.given), None)


NOTHING_GIVEN = Settings()
