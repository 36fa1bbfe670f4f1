"""The report: one HTML page about a fitted table and its strangest rows, for people who have never seen paribus.

Explanations become frozen facts (`anomalies`, `summary`), small functions draw them (`beanplot`, `context_profile`,
`score_histogram`, `score_map`), and a template writes the page (`page`). The page needs nothing else: no network, no
other file. Whatever comes from the table is escaped, and the page's security policy lets no script run but its own.
"""

from paribus.output.report.page import make_page

__all__ = ["make_page"]
