"""Rows as they come: a monitor that judges, learns, and tells a strange row from a changed world."""
