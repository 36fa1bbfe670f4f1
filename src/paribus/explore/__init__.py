"""The explorer: a local web page to inspect a table, see why rows are unusual, and teach the detector."""
