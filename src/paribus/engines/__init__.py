"""Engines that keep a table on several machines: one adapter each, around batches of rows."""

from __future__ import annotations

from typing import Any

from paribus.engines.interface import Engine


def find_engine(frame: Any) -> Engine | None:
    """The engine of a Spark or Dask DataFrame; None for any other table.

    >>> find_engine({"a": [1]}) is None
    True
    """
    if type(frame).__module__.startswith("pyspark.pandas"):
        raise TypeError("this is a DataFrame of pandas on Spark: pass frame.to_spark()")
    kinds = {(each.__module__.partition(".")[0], each.__name__) for each in type(frame).__mro__}
    if ("pyspark", "DataFrame") in kinds:
        from paribus.engines.spark import SparkEngine

        return SparkEngine(frame.sparkSession)
    if kinds & {("dask", "DataFrame"), ("dask_expr", "DataFrame")}:
        from paribus.engines.dask import DaskEngine

        return DaskEngine()
    return None
