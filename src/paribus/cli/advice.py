"""`paribus context`: which columns are context."""

from __future__ import annotations

import io
from pathlib import Path

from paribus._common.atomic_files import atomic_write
from paribus._common.text import plain
from paribus.advice.suggestion import Advice
from paribus.cli.columns import resolve
from paribus.cli.messages import note, one_line
from paribus.cli.options import Source
from paribus.cli.outputs import check_outputs
from paribus.cli.overview import look_at, print_command
from paribus.cli.pictures import require_matplotlib
from paribus.cli.printing import print_json, print_table
from paribus.cli.signals import loading
from paribus.io.reading.raw import all_columns
from paribus.output.console import print_words

FORMATS = (".svg", ".png", ".pdf")


def context(source: Source, behavior: list[str], picture: Path | None, as_json: bool) -> None:
    """Prints which columns look like context, and why."""
    if picture is not None:
        if picture.suffix.lower() not in FORMATS:
            raise ValueError(f"--picture is {picture}: its name must end in {', '.join(FORMATS)}")
        check_outputs([source.file], {"--picture": picture})
        if picture.suffix.lower() != ".svg":
            require_matplotlib()
    read = source.read(all_columns)
    chosen = resolve("--behavior", behavior, list(read.columns)) if behavior else None
    with loading():
        from paribus.detectors.context_advice import suggest_context
    advice = suggest_context(read.columns, chosen)
    if picture is not None:
        _save(advice, picture)
    if as_json:
        print_json(advice.to_dict())
        return
    _print(advice)
    print_words("\nA command that follows from this:\n")
    print_command(advice, look_at(read), "detect", source)


def _print(advice: Advice) -> None:
    steps = {step.name: place for place, step in enumerate(advice.steps, 1)}
    roles = dict.fromkeys(advice.behavioral, "behavior") | {name: f"context {n}" for name, n in steps.items()}
    if advice.id is not None:
        roles[advice.id] = "id"
    print_table(
        ["column", "looks like", "proposed", "why"],
        [
            [
                plain(look.name),
                look.nature.value,
                roles.get(look.name, "-"),
                one_line(_why(advice, look.name, look.why)),
            ]
            for look in advice.looks
        ],
    )
    if advice.candidates:
        print_words("\nThe information of each column about the behavior, in bits: by itself / given the others\n")
        print_table(
            ["behavior", *(plain(name) for name in advice.candidates)],
            [
                [
                    plain(behavior),
                    *(
                        f"{alone.bits:.2f} / {beyond.bits:.2f}"
                        for alone, beyond in zip(advice.alone[b], advice.beyond[b], strict=True)
                    ),
                ]
                for b, behavior in enumerate(advice.measured)
            ],
        )
    for alarm in advice.alarms:
        print_words(f"\nWarning: {one_line(alarm)}.")


def _why(advice: Advice, name: str, look: str) -> str:
    for step in advice.steps:
        if step.name == name:
            return f"{look}; {step}"
    left_out = advice.left_out.get(name)
    return look if left_out is None or left_out == look else f"{look}; left out: {left_out}"


def _save(advice: Advice, path: Path) -> None:
    if not advice.candidates or not advice.measured:
        raise ValueError("there is nothing to draw: the table has no context or no behavior to measure")
    if path.suffix.lower() == ".svg":
        from paribus.pictures.svg.gain_map import gain_map

        data = str(gain_map(advice)).encode()
    else:
        from matplotlib import pyplot as plt

        from paribus.pictures.matplotlib import GainMapDisplay

        figure = GainMapDisplay.from_advice(advice).figure_
        buffer = io.BytesIO()
        figure.savefig(buffer, format=path.suffix.lower().removeprefix("."), dpi=150)
        plt.close(figure)
        data = buffer.getvalue()
    with atomic_write(path) as file:
        file.write(data)
    note(f"the picture is in {path}")
