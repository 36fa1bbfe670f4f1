"""Spark: batches of rows by mapInArrow, files by SparkContext.addFile."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from paribus.engines.batch_size import batch_size
from paribus.engines.checks import PACKAGES, check_versions, own_versions
from paribus.engines.interface import SharedFile

# Results of tasks are split into rows of this many bytes, and Java collects about this many bytes at once.
PART_SIZE = 2 * 2**20
MAX_AT_ONCE = 16 * 2**20
# More tasks than run at the same time anywhere.
MAX_SLOTS = 100_000
RESULT_SCHEMA = "place int, part int, is_last boolean, data binary"


@dataclass(frozen=True)
class SparkFile:
    """A file that executors fetch when they first need it."""

    name: str

    def path(self) -> str:
        """Its path on the current executor."""
        from pyspark import SparkFiles

        return str(SparkFiles.get(self.name))


class SparkEngine:
    """Adapts a Spark session.

    Parameters
    ----------
    session : SparkSession
        The session.
    """

    name = "Spark"
    module = "paribus.spark"
    _checked: ClassVar[set[str]] = set()
    """The applications whose executors have been checked."""
    _sent: ClassVar[set[tuple[str, str]]] = set()
    """Sessions of Spark Connect, and files that they have, because a file cannot be sent twice."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._is_remote = type(session).__module__.startswith("pyspark.sql.connect")
        """Whether the session is one of Spark Connect, which has no SparkContext."""

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""
        if not self._is_remote:
            return int(self._session.sparkContext.defaultParallelism)
        functions = import_module("pyspark.sql.functions")
        # By default, rows are in as many partitions.
        return int(self._session.range(MAX_SLOTS).select(functions.spark_partition_id()).distinct().count())

    @property
    def threads_per_task(self) -> int:
        """The number of threads that a task may use."""
        return int(self._session.conf.get("spark.task.cpus", "1"))

    def check(self) -> None:
        """Raises an error if executors lack a package; checked once per application."""
        application = str(self._session.conf.get("spark.app.id"))
        if application in self._checked:
            return
        n_slots = self.n_slots
        rows = self._session.range(0, n_slots, 1, n_slots).mapInArrow(make_probe(PACKAGES), "found string")
        own = own_versions()
        with explained():
            answers = {row[0] for row in rows.collect()}
        for answer in sorted(answers):
            found = dict(each.split("=", 1) for each in answer.split(" "))
            check_versions({name: value or None for name, value in found.items()}, own, "the Spark executors")
        self._checked.add(application)

    def names(self, frame: Any) -> list[str]:
        """The names of the columns."""
        return list(frame.columns)

    def select(self, frame: Any, names: Sequence[str]) -> Any:
        """Some of the columns."""
        return frame.select(*(_quoted(name) for name in names))

    def empty(self, frame: Any) -> Any:
        """A batch of the frame without rows."""
        return frame.limit(0).toArrow()

    def n_rows(self, frame: Any) -> int:
        """The number of rows."""
        with explained():
            return int(frame.count())

    def in_parts(self, frame: Any, most: int) -> tuple[Any, int]:
        """The frame in at most this many partitions; counting them could require computing it."""
        return frame.coalesce(most), most

    def gather(self, frame: Any, work: Callable[[Iterator[Any]], Any]) -> Iterator[Any]:
        """Does work on the batches of each partition."""

        def mapped(batches: Iterator[Any]) -> Iterator[Any]:
            return in_rows(work(batches))

        return self._collect(frame.mapInArrow(mapped, RESULT_SCHEMA))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Does each task on an executor."""

        def mapped(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    yield from in_rows(work(tasks[place]))

        return self._collect(self._session.range(0, len(tasks), 1, len(tasks)).mapInArrow(mapped, RESULT_SCHEMA))

    def share(self, path: str) -> SharedFile:
        """Lets executors fetch a file."""
        name = os.path.basename(path)
        if not self._is_remote:
            self._session.sparkContext.addFile(path)
        elif (session := str(self._session.session_id), name) not in self._sent:
            self._session.addArtifacts(path, file=True)
            self._sent.add((session, name))
        return SparkFile(name)

    def release(self, shared: SharedFile) -> None:
        """Does nothing: an executor that starts later fetches all files of the session, so they must stay."""

    def transform(self, frame: Any, work: Callable[[Any], Any], result: Any, kept: Sequence[str]) -> Any:
        """A lazy frame of the results of work on each batch."""
        types = import_module("pyspark.sql.types")
        own = {field.name: field for field in frame.schema.fields}
        new = [
            types.StructField(
                each.name, types.DoubleType() if str(each.type) == "double" else _text_or_whole(each.type, types)
            )
            for each in result.schema
            if each.name not in kept
        ]
        schema = types.StructType([*(own[name] for name in kept), *new])

        def mapped(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in larger_batches(batches):
                yield work(batch)

        return frame.mapInArrow(mapped, schema)

    def highest(
        self,
        frame: Any,
        n: int,
        by: Sequence[str],
        counted: Callable[[Any], dict[str, Any]],
        out: tuple[Callable[[Any], Any], str] | None = None,
    ) -> tuple[Any, dict[str, int]]:
        """The rows with the highest values in some columns, and the number of rows for which conditions hold."""
        functions = import_module("pyspark.sql.functions")
        with self._cached(frame) as rows, explained():
            if out is not None:
                written, path = out
                written(rows).write.parquet(path)
            wanted = counted(rows)
            sums = [functions.sum(each.cast("long")).alias(name) for name, each in wanted.items()]
            row = rows.agg(*sums).collect()[0]
            table = rows.orderBy(*(rows[_quoted(name)].desc_nulls_last() for name in by)).limit(n).toArrow()
        return table, {name: int(row[name] or 0) for name in wanted}

    @contextmanager
    def _cached(self, frame: Any) -> Iterator[Any]:
        """The frame, computed only once even if it is used several times; on the disks of executors."""
        frame = frame.persist(import_module("pyspark").StorageLevel.DISK_ONLY)
        try:
            yield frame
        finally:
            frame.unpersist()

    def _collect(self, results: Any) -> Iterator[Any]:
        """The results of tasks, each in one or more rows. They are computed at once, and fetched in pieces."""
        functions = import_module("pyspark.sql.functions")
        with self._cached(results) as found, explained():
            size = found.agg(functions.sum(functions.length("data"))).collect()[0][0] or 0
            parts: list[bytes] = []
            for row in found.collect() if size <= MAX_AT_ONCE else self._in_pieces(found, -(-size // MAX_AT_ONCE)):
                parts.append(bytes(row["data"]))
                if row["is_last"]:
                    yield pickle.loads(b"".join(parts))
                    parts = []

    def _in_pieces(self, results: Any, n_pieces: int) -> Iterator[Any]:
        """The rows of results in their order, such that Java holds only a piece of them at a time."""
        order = ["place", "part"]
        pieces = results.repartitionByRange(n_pieces, *order).sortWithinPartitions(*order)
        if self._is_remote:
            yield from pieces.toLocalIterator()
            return
        # Not toLocalIterator: Java keeps what that has fetched, and 1 GB, its default memory, is full after 600 MB.
        partitions = pieces.rdd
        for number in range(partitions.getNumPartitions()):
            yield from self._session.sparkContext.runJob(partitions, list, [number])


def in_rows(result: Any) -> Iterator[Any]:
    """A result in rows of at most a few megabytes."""
    import pyarrow
    from pyspark import TaskContext

    context = TaskContext.get()
    place = 0 if context is None else context.partitionId()
    data = pickle.dumps(result, protocol=5)
    begins = range(0, len(data), PART_SIZE)
    for part, begin in enumerate(begins):
        yield pyarrow.RecordBatch.from_arrays(
            [
                pyarrow.array([place], pyarrow.int32()),
                pyarrow.array([part], pyarrow.int32()),
                pyarrow.array([part == len(begins) - 1]),
                pyarrow.array([data[begin : begin + PART_SIZE]], pyarrow.binary()),
            ],
            names=["place", "part", "is_last", "data"],
        )


def larger_batches(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows of a partition in larger batches than those of Spark, which has 10,000 rows in each by default."""
    import pyarrow

    held: list[Any] = []
    n_held = 0
    for batch in batches:
        held.append(batch)
        n_held += batch.num_rows
        if n_held >= batch_size(batch.num_columns):
            yield pyarrow.concat_batches(held)
            held, n_held = [], 0
    if held:
        yield pyarrow.concat_batches(held)


@contextmanager
def explained() -> Iterator[None]:
    """Turns an error of Spark into one sentence, without the stack of Java."""
    errors = import_module("pyspark.errors")
    try:
        yield
    except errors.PythonException as error:
        raise ValueError(f"a task failed on a Spark executor: {last_line(str(error))}") from None
    except errors.PySparkException as error:
        raise ValueError(f"Spark says: {str(error).strip().splitlines()[0]}") from None
    except Exception as error:
        # The only kind that is not one of pyspark's own.
        if type(error).__name__ != "Py4JJavaError":
            raise
        raise ValueError(f"a job failed on Spark: {root_cause(str(error))}") from None


def root_cause(text: str) -> str:
    r"""The innermost cause in a stack of Java, and advice where it is known.

    >>> root_cause("Failed.\n: org.x.SparkException: Job aborted\n\tat org.x\nCaused by: java.io.IOException: full")
    'java.io.IOException: full'
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("\t", " "))]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    found = (causes or [lines[-1].removeprefix(": ")])[-1]
    found = found.rpartition("most recent failure: ")[2].strip().rstrip(".")
    if "OutOfMemoryError" in found:
        found += ": increase spark.executor.memory and spark.driver.memory, or fit to fewer rows, with n_rows=..."
    return found


def last_line(text: str) -> str:
    r"""The message of a traceback.

    >>> last_line("boom: Traceback (most recent call last):\n  File 'a.py', line 3\nValueError: no x\n\n\tat org")
    'no x'
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("\t", "JVM stacktrace"))]
    errors = [line for line in lines if not line.startswith(" ") and "Traceback (most" not in line]
    found = errors[-1] if errors else lines[-1]
    kind, colon, message = found.partition(": ")
    return message if colon and kind.replace(".", "").isidentifier() else found


def make_probe(packages: Sequence[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function that lists the installed packages. It is sent as code, since executors may not have paribus."""

    def probe(batches: Iterator[Any]) -> Iterator[Any]:
        from importlib import import_module
        from importlib.metadata import PackageNotFoundError, version

        import pyarrow

        for _ in batches:
            pass
        found = []
        for name in packages:
            try:
                # The compiled part of paribus is missing if a wheel was only put on the path, as by --py-files.
                import_module("paribus._core" if name == "paribus" else name)
                found.append(f"{name}={version(name)}")
            except ImportError as error:
                found.append(f"{name}={'?' if isinstance(error, PackageNotFoundError) else ''}")
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([" ".join(found)])], names=["found"])

    return probe


def _text_or_whole(kind: Any, types: Any) -> Any:
    return types.LongType() if str(kind) == "int64" else types.StringType()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
