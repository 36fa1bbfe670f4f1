"""Results for people: tables in the console and in notebooks, dataframes, and the report."""
