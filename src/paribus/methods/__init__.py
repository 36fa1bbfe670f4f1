"""Methods of detection: one folder each, an interface that all of them answer, and the registry that lists them."""
