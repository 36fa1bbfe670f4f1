"""Streams of rows: a monitor that judges each row, learns from it, and distinguishes odd rows from changes."""
