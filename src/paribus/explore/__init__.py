"""The explorer: a page on this machine to look at a table, ask why a row is unusual, and teach the detector."""
