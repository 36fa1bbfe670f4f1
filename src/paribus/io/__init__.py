"""Tables from files and databases, and results into files."""
