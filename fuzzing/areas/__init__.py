"""The areas of a campaign."""

from fuzzing.areas import archives, cells, databases, kernels, lists, services, streams, tables

AREAS = [
    *cells.AREAS,
    *lists.AREAS,
    *tables.AREAS,
    *databases.AREAS,
    *archives.AREAS,
    *kernels.AREAS,
    *streams.AREAS,
    *services.AREAS,
]
