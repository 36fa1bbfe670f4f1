"""Pictures as SVG, for the report: no scripts, everything escaped, colors by class."""
