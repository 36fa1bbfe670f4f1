"""Results for people: the console, tables, frames and the report."""
