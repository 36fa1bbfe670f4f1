"""The entry point of the command line. It is small, because only from here on signals are handled."""

from paribus._common import process
from paribus.cli.signals import loading


def main() -> None:
    """Runs the `paribus` command."""
    process.is_command = True
    with loading():
        # typer imports `decimal` later, when it parses options, and an interrupt during that import shows a traceback.
        import decimal  # noqa: F401

        from paribus.cli.running import main as run
    run()


if __name__ == "__main__":
    main()
