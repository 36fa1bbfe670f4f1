"""What the shell calls. It is small: only from here on is an interrupt ours."""

from paribus.cli.signals import loading


def main() -> None:
    """Runs the `paribus` command."""
    with loading():
        # typer loads the former when it reads options, and its C code has a word of its own for an interrupt.
        import decimal  # noqa: F401

        from paribus.cli.app import main as run
    run()


if __name__ == "__main__":
    main()
