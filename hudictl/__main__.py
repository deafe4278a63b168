"""``python -m hudictl``, and the console script."""

import signal
import sys


def main() -> None:
    """Runs this process's command line."""
    # Like Ctrl-C: one way out, with the exit code that says so.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from hudictl.cli.main import run
    from hudictl.cli.streams import fill_closed

    fill_closed()
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
