"""Options that commands share."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hudictl.cli.command_line import STORAGE_OPTION, command_line
from hudictl.cli.complete import instants
from hudictl.cli.profile_options import TableOption, profile_option, said
from hudictl.cli.profiles import resolved, secrets_of
from hudictl.cli.progress import AUTO, NONE, PROGRESS
from hudictl.cli.streams import in_color, log_to_stderr
from hudictl.errors import WOULD_CHANGE, UsageError
from hudictl.library.engines import EngineOptions as EngineOptions
from hudictl.library.profiles import ENGINES, Profile
from hudictl.library.times import duration_ms

if TYPE_CHECKING:
    from hudictl.library.table import HudiTable
    from hudictl.ops.session import Monitor
    from hudictl.table.beat_rule import HeartbeatRule
    from hudictl.table.locks.config import Locking
    from hudictl.table.table import Table

Command = TypeVar("Command", bound=Callable[..., Any])

_TABLE_HELP = "Base path of the table, or its profile's name."
OUTPUTS = ("text", "json")
_ENGINES = click.Choice(ENGINES)
PATH = click.Path(readable=False)
"""The shell completes it; whatever is wrong with it, the command says."""
TABLE_VARIABLE = "HUDICTL_TABLE"


@dataclass(frozen=True)
class TableOptions:
    """What every command takes. ``given_...``: by the command line or a variable, which win over the profile.

    ``lock_source``: where lock settings come from, for plans. ``rule``: the writers' heartbeat settings, for commands
    that take them; ``rule_said``: by the command line. ``named``: how the operator names one of several tables.
    """

    uri: str
    output: str
    verbose: bool
    color: bool
    given_timezone: str | None
    given_storage: dict[str, str] = field(repr=False)
    progress: str = AUTO
    locking: "Locking | None" = field(default=None, repr=False)
    profile: Profile | None = None
    lock_source: str = ""
    rule: "HeartbeatRule | None" = None
    rule_said: bool = False
    named: str = ""

    @property
    def json(self) -> bool:
        return self.output == "json"

    @property
    def timezone(self) -> str | None:
        return self.given_timezone or (self.profile.timezone if self.profile else "") or None

    @property
    def storage_options(self) -> dict[str, str]:
        """Raises UsageError: a reference of the profile leads nowhere."""
        return resolved(self.profile, "storage_options") | self.given_storage

    def open(self, single_operator: bool = False, salvage: Mapping[str, str] | None = None) -> "Table":
        from hudictl.table.beat_rule import ASSUMED
        from hudictl.table.open import open_table

        return open_table(
            self.uri,
            self.storage_options,
            self.timezone,
            single_operator=single_operator,
            rule=self.rule or ASSUMED,
            salvage=salvage,
        )

    def table(
        self,
        engine: "EngineOptions | None" = None,
        *,
        core: "Table | None" = None,
        monitor: "Monitor | None" = None,
    ) -> "HudiTable":
        """The table, to look at it or to change it; without ``engine`` data files are listed by threads.

        Args:
            core: it, if it is open.

        Raises UsageError, NotFound, Unreadable, Unsupported, StorageFailed.
        """
        from hudictl.library.access import Access
        from hudictl.library.opened import Opened
        from hudictl.library.table import HudiTable

        context = click.get_current_context(silent=True)
        access = Access(
            engine=engine or EngineOptions("local"),
            locking=self.locking,
            monitor=monitor,
            command=command_line(),
            timezone=self.timezone,
            storage_options=self.storage_options,
            secrets=functools.partial(secrets_of, context),
        )
        return HudiTable(Opened(core or self.open(), access))


@dataclass(frozen=True)
class ChangeOptions:
    """What every command takes that changes something. ``engine``: None for threads."""

    common: TableOptions
    plan: bool
    yes: bool
    single_operator: bool
    detailed: bool = False
    engine: EngineOptions | None = None

    def open(self, salvage: Mapping[str, str] | None = None) -> "Table":
        return self.common.open(self.single_operator, salvage)

    def end_plan(self) -> None:
        """The end of a command that has shown what would change. Raises Exit: its code is asked to tell."""
        if self.detailed:
            raise click.exceptions.Exit(WOULD_CHANGE)


def gathered(
    name: str, kind: type[Any], *options: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[[Command], Command]:
    """Adds options. The command gets their values as ``name``: a ``kind``, which has a field for each of them."""

    def added(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**kwargs: Any) -> Any:
            given = {field.name: kwargs.pop(field.name) for field in fields(kind) if field.name in kwargs}
            return command(**kwargs, **{name: kind(**given)})

        return functools.reduce(lambda inner, option: option(inner), reversed(options), wrapped)  # type: ignore[return-value]

    return added


def table_options(command: Command) -> Command:
    """Adds the common options; the command gets them as ``common``."""
    return required_table(common_options(command))


def required_table(command: Command) -> Command:
    """Adds -t to a command that has ``common_options``."""
    return table_option(_TABLE_HELP, envvar=TABLE_VARIABLE, required=True)(command)


def optional_table_options(command: Command) -> Command:
    """The same where a saved plan names the table: the environment's does not count then."""
    help = "Base path of the table, if it differs from the one in the plan; or its profile's name."
    return table_option(help, default="", by_profile=False)(common_options(command))


def stream_options(command: Command) -> Command:
    """The same for a command that names logs, or what to look for in a table; its rows may go out one by one."""
    table = table_option(f"{_TABLE_HELP[:-1]}; if no PATH is given.", envvar=TABLE_VARIABLE, default="")
    return table(common_options(command, (*OUTPUTS, "ndjson")))


def table_option(help: str, **more: Any) -> Callable[[Command], Command]:
    """Adds -t, as ``uri``, to a command that also has ``common_options``."""
    return click.option("-t", "--table", "uri", cls=TableOption, metavar="URI", help=help, **more)


accept_lost_option = click.option(
    "--accept-lost-instants",
    is_flag=True,
    help="Go on although there are files of later instants than the timeline has. They stay where they are.",
)


def as_of_option(help: str) -> Callable[[Command], Command]:
    """Adds --as-of, an instant time."""

    def checked(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
        if value is not None and not value.isdigit():
            raise UsageError(
                f"--as-of {value}: not an instant time", hint="write it as on the timeline: 20261121030000000"
            )
        return value

    return click.option("--as-of", metavar="INSTANT", callback=checked, shell_complete=instants(), help=help)


def path_options(command: Command) -> Command:
    """The same for a command whose PATHs alone say which tables they lie in."""
    return options_without_table(command, (*OUTPUTS, "ndjson"))


def options_without_table(command: Command, outputs: tuple[str, ...] = OUTPUTS) -> Command:
    """The same for a command without table."""
    options = common_options(command, outputs)
    return functools.wraps(options)(functools.partial(options, uri=""))  # type: ignore[return-value]


def common_options(command: Command, outputs: tuple[str, ...] = OUTPUTS) -> Command:
    """Adds the options of every command, but for -t; the command gets them as ``common``."""
    if not any(parameter.name == "engine" for parameter in getattr(command, "__click_params__", ())):
        command = _unused_engine_options(command)

    @click.option(
        "-o",
        "--output",
        envvar="HUDICTL_OUTPUT",
        type=click.Choice(outputs),
        default="text",
        help="Output format"
        + (": text, one JSON document (json), or one JSON row on each line (ndjson)." if "ndjson" in outputs else "."),
    )
    @click.option(
        "--progress",
        type=click.Choice(PROGRESS),
        default=AUTO,
        help="Progress on stderr: text on a terminal (auto), JSON on each line (ndjson), or none.",
    )
    @click.option("-q", "--quiet", is_flag=True, help="Show no progress: the same as --progress none.")
    @click.option("-v", "--verbose", is_flag=True, help="Print each step and each file operation to stderr.")
    @click.option("--no-color", is_flag=True, help="Print without colours. NO_COLOR does the same.")
    @click.option(
        "--timezone",
        metavar="ZONE",
        help="Time zone of the table's instant times, for example Europe/Berlin or UTC-05:00.",
    )
    @click.option(STORAGE_OPTION, "storage", multiple=True, metavar="K=V", help="Option of the store. Repeatable.")
    @profile_option
    @functools.wraps(command)
    def wrapped(
        uri: str,
        output: str,
        progress: str,
        quiet: bool,
        verbose: bool,
        no_color: bool,
        timezone: str | None,
        storage: tuple[str, ...],
        profile: Profile | None,
        **kwargs: Any,
    ) -> Any:
        if verbose:
            log_to_stderr()
        options = pairs_of(storage, STORAGE_OPTION)
        progress = NONE if quiet else progress
        common = TableOptions(uri, output, verbose, in_color(no_color), timezone, options, progress, profile=profile)
        return command(common=common, **kwargs)

    return wrapped  # type: ignore[return-value]


def engine_options(command: Command) -> Command:
    """Adds the engine's options; the command gets them as ``engine_options``."""

    @click.option(
        "--engine",
        type=_ENGINES,
        default="spark",
        help="Lists, reads and deletes data files: spark, or local (threads on this host, without Java).",
    )
    @click.option(
        "--master", metavar="URL", help="Spark master URL. Default: the master of spark-submit, else local[*]."
    )
    @click.option("--conf", multiple=True, metavar="K=V", help="Spark configuration. Repeatable.")
    @click.option(
        "--shared-filesystem",
        is_flag=True,
        help="Confirm that all hosts of the Spark cluster see the same files. "
        "Needed on a cluster if the table's URI begins with file:.",
    )
    @functools.wraps(command)
    def wrapped(
        common: TableOptions,
        engine: str,
        master: str | None,
        conf: tuple[str, ...],
        shared_filesystem: bool,
        **kwargs: Any,
    ) -> Any:
        given = EngineOptions(engine, master, pairs_of(conf, "--conf"), shared_filesystem)
        return command(common=common, engine_options=_engine_of(given, common.profile), **kwargs)

    return wrapped  # type: ignore[return-value]


def _engine_of(given: EngineOptions, profile: Profile | None) -> EngineOptions:
    """The engine by the command line, then by the profile. Raises UsageError: options of Spark for another engine."""
    by_profile = profile is not None and bool(profile.engine) and not said("engine")
    name = profile.engine if profile and by_profile else given.name
    return replace(given, name=name).over(
        profile,
        resolved(profile, "spark_conf") if name != "local" else {},
        refusal="--master, --conf and --shared-filesystem are for Spark: they cannot be used with --engine local",
        hint=f"the profile {profile.name} has engine = local: add --engine spark" if profile and by_profile else "",
    )


def _unused_engine_options(command: Command) -> Command:
    """Adds the same to a command that needs no engine, so that one set of options fits all; the values are dropped."""
    help = "Accepted without effect: this command needs no engine."
    engine = click.option("--engine", type=_ENGINES, expose_value=False, help=help)
    others = (
        click.option("--master", expose_value=False, hidden=True),
        click.option("--conf", multiple=True, expose_value=False, hidden=True),
        click.option("--shared-filesystem", is_flag=True, expose_value=False, hidden=True),
    )
    return engine(functools.reduce(lambda inner, option: option(inner), others, command))


def idle_option(command: Command) -> Command:
    """Adds --idle, in milliseconds as ``idle_ms``."""
    option = click.option(
        "--idle",
        "idle_ms",
        default="10m",
        show_default=True,
        callback=lambda _context, _parameter, value: duration_ms(value, "--idle"),
        metavar="DURATION",
        help="A pending write without a heartbeat counts as running if it had activity within this time.",
    )
    return option(command)


def pairs_of(values: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = {}
    for number, value in enumerate(values, 1):
        key, separator, rest = value.partition("=")
        if not separator or not key:
            # Not the value: it may be a secret.
            raise UsageError(f"{option}: value number {number} is not KEY=VALUE")
        pairs[key] = rest
    return pairs
