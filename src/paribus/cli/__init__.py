"""The `paribus` command."""
