"""``python -m hudictl``, and the console script."""

import sys


def main() -> None:
    """Runs this process's command line."""
    from hudictl.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
