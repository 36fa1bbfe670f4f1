"""Pictures as SVG, for the report: no scripts, all text escaped, colors from CSS classes."""
