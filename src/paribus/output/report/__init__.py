"""The report: one HTML page about a fitted table and its most unusual rows, for readers who are new to paribus.

`anomalies` and `summary` turn explanations into frozen facts, `paribus.pictures.svg` draws them, and `page` fills the
templates. The page is self-contained: it needs neither a network nor other files. All text from the table is escaped,
and the page's content security policy allows only its own script.
"""
