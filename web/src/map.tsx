// The map: all rows in two columns, the listed ones on top; a click selects a row, a rectangle filters the list.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, state } from "./api";
import { epoch, filter, narrow, selected } from "./store";
import type { Axis, ScoreMap, ValueRange } from "./types";
import { Choice } from "./list";
import { count } from "./words";

const LEFT = 64;
const BOTTOM = 34;
const TOP = 10;
const RIGHT = 12;

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface Frame {
  width: number;
  height: number;
}

function place(frame: Frame, x: number, y: number): [number, number] {
  return [LEFT + x * (frame.width - LEFT - RIGHT), TOP + (1 - y) * (frame.height - TOP - BOTTOM)];
}

function draw(canvas: HTMLCanvasElement, found: ScoreMap, chosen: number | null, frame: Frame): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = frame.width * scale;
  canvas.height = frame.height * scale;
  const pen = canvas.getContext("2d")!;
  pen.scale(scale, scale);
  pen.clearRect(0, 0, frame.width, frame.height);
  pen.font = "12px system-ui, sans-serif";
  const ink = color("--muted");
  const [left, bottom] = place(frame, 0, 0);
  const [right, top] = place(frame, 1, 1);
  if (found.cells) {
    const { n_x, n_y, counts } = found.cells;
    const most = Math.log1p(Math.max(...counts.map((each) => each[2]), 1));
    const width = (right - left) / n_x;
    const height = (bottom - top) / n_y;
    pen.fillStyle = color("--dot");
    for (const [i, j, n] of counts) {
      pen.globalAlpha = 0.12 + 0.7 * (Math.log1p(n) / most);
      pen.fillRect(left + i * width, bottom - (j + 1) * height, Math.ceil(width), Math.ceil(height));
    }
    pen.globalAlpha = 1;
  }
  if (found.dots) {
    pen.fillStyle = color("--dot");
    pen.globalAlpha = found.dots.length > 1500 ? 0.3 : 0.5;
    for (const [, x, y] of found.dots) {
      const [a, b] = place(frame, x, y);
      pen.fillRect(a - 1.2, b - 1.2, 2.4, 2.4);
    }
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = color("--rule-strong");
  pen.beginPath();
  pen.moveTo(left, top);
  pen.lineTo(left, bottom);
  pen.lineTo(right, bottom);
  pen.stroke();
  pen.fillStyle = ink;
  pen.textAlign = "center";
  let free = 0;
  for (const tick of found.x.ticks) {
    const [a] = place(frame, tick.at, 0);
    const half = pen.measureText(tick.text).width / 2;
    if (a - half < free) continue;
    free = a + half + 8;
    pen.fillText(tick.text, Math.min(a, frame.width - half - 2), bottom + 15);
  }
  pen.textAlign = "right";
  let above = Infinity;
  for (const tick of found.y.ticks) {
    const [, b] = place(frame, 0, tick.at);
    if (above - b < 13) continue;
    above = b;
    pen.fillText(shorten(pen, tick.text, LEFT - 10), left - 6, b + 4);
  }
  const highest = Math.max(...found.listed.map((each) => each[3]), 1);
  pen.strokeStyle = color("--card");
  for (const [, x, y, score] of [...found.listed].reverse()) {
    const [a, b] = place(frame, x, y);
    pen.fillStyle = color("--own");
    pen.beginPath();
    pen.arc(a, b, 2.5 + 3.5 * Math.sqrt(Math.max(0, score) / highest), 0, 7);
    pen.fill();
    pen.stroke();
  }
  const own = found.listed.find((each) => each[0] === chosen) ?? found.dots?.find((each) => each[0] === chosen);
  if (own) {
    const [a, b] = place(frame, own[1], own[2]);
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(a, b, 9, 0, 7);
    pen.stroke();
  }
}

function shorten(pen: CanvasRenderingContext2D, text: string, room: number): string {
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > room) end--;
  return `${text.slice(0, end)}…`;
}

function range(axis: Axis, from: number, to: number): ValueRange | null {
  if (axis.categories) {
    const at = Math.floor(((from + to) / 2) * axis.categories.length);
    const name = axis.categories[Math.max(0, Math.min(axis.categories.length - 1, at))];
    return name === "others" ? null : { column: axis.name, category: name };
  }
  // What lies beyond the axis is drawn at its end, so a rectangle that reaches the end has no limit there.
  if (from <= 0 && to >= 1) return null;
  const span = axis.high - axis.low;
  const found: ValueRange = { column: axis.name };
  if (from > 0) found.low = axis.low + from * span;
  if (to < 1) found.high = axis.low + to * span;
  return found;
}

export function Map() {
  const now = state.value!;
  const result = now.result!;
  const names = now.columns.map((column) => column.name);
  const [axes, setAxes] = useState<[string, string] | null>(null);
  const behavior = result.behavior.filter((each) => names.includes(each));
  const steps = [...(now.advice?.columns ?? [])].filter((each) => each.place).sort((a, b) => a.place! - b.place!);
  const telling = [...steps.map((each) => each.name), ...result.context].filter((each) => result.context.includes(each));
  // Numbers make the better axis.
  const across = telling.find((each) => now.columns.some((column) => column.name === each && column.histogram)) ?? telling[0];
  const [x, y] = axes && axes.every((each) => names.includes(each)) ? axes : [across, behavior[0]];
  const [found, setFound] = useState<ScoreMap | null>(null);
  const [frame, setFrame] = useState<Frame>({ width: 480, height: 260 });
  const [brush, setBrush] = useState<[number, number, number, number] | null>(null);
  const [dark, setDark] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    ask<ScoreMap>("map", { x, y, filter: filter.value }, abort.signal).then(setFound, () => undefined);
    return () => abort.abort();
  }, [x, y, epoch.value, filter.value]);
  useEffect(() => {
    const watch = new ResizeObserver(() => box.current && setFrame({ width: box.current.clientWidth, height: box.current.clientHeight }));
    if (box.current) watch.observe(box.current);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => setDark((before) => before + 1);
    scheme.addEventListener("change", redraw);
    return () => {
      watch.disconnect();
      scheme.removeEventListener("change", redraw);
    };
  }, []);
  useEffect(() => {
    if (canvas.current && found) draw(canvas.current, found, selected.value, frame);
  }, [found, frame, selected.value, dark]);
  const at = (event: PointerEvent): [number, number] => {
    const edge = canvas.current!.getBoundingClientRect();
    const inside = (value: number) => Math.max(0, Math.min(1, value));
    return [
      inside((event.clientX - edge.left - LEFT) / (frame.width - LEFT - RIGHT)),
      inside(1 - (event.clientY - edge.top - TOP) / (frame.height - TOP - BOTTOM)),
    ];
  };
  const finish = () => {
    if (!brush || !found) return;
    setBrush(null);
    const [x0, y0, x1, y1] = brush;
    const width = Math.abs(x1 - x0) * frame.width;
    const height = Math.abs(y1 - y0) * frame.height;
    if (width < 6 && height < 6) {
      // A click: the nearest dot, listed ones first.
      const near = (dots: readonly (readonly number[])[]) =>
        dots
          .map((each) => ({ row: each[0], far: Math.hypot((each[1] - x1) * frame.width, (each[2] - y1) * frame.height) }))
          .filter((each) => each.far < 14)
          .sort((a, b) => a.far - b.far)[0];
      const hit = near(found.listed) ?? near(found.dots ?? []);
      if (hit) selected.value = hit.row;
      return;
    }
    const chosen = [range(found.x, Math.min(x0, x1), Math.max(x0, x1)), range(found.y, Math.min(y0, y1), Math.max(y0, y1))];
    const others = filter.value.ranges.filter((each) => each.column !== x && each.column !== y);
    narrow({ ranges: [...others, ...chosen.filter((each): each is ValueRange => each !== null)] });
  };
  const choices = names.map((name) => [name, name] as [string, string]);
  const corner = brush && [place(frame, Math.min(brush[0], brush[2]), Math.max(brush[1], brush[3])), place(frame, Math.max(brush[0], brush[2]), Math.min(brush[1], brush[3]))];
  return (
    <section class="card map" aria-labelledby="map-title">
      <div class="map-head">
        <h2 id="map-title">Map</h2>
        <Choice label="Up" value={y} choices={choices} onChange={(next) => setAxes([x, next])} />
        <Choice label="Across" value={x} choices={choices} onChange={(next) => setAxes([next, y])} />
      </div>
      <div class="map-box" ref={box}>
        <canvas
          ref={canvas}
          role="img"
          style={{ width: `${frame.width}px`, height: `${frame.height}px` }}
          aria-label={found ? `${count(found.n, "row")} by ${found.x.name} and ${found.y.name}; ${count(found.listed.length, "listed row")} marked` : "Map"}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const [a, b] = at(event);
            setBrush([a, b, a, b]);
          }}
          onPointerMove={(event) => brush && setBrush([brush[0], brush[1], ...at(event)])}
          onPointerUp={finish}
        />
        {corner && (
          <div
            class="brush"
            style={{ left: `${corner[0][0]}px`, top: `${corner[0][1]}px`, width: `${corner[1][0] - corner[0][0]}px`, height: `${corner[1][1] - corner[0][1]}px` }}
          />
        )}
      </div>
      <p class="muted">Click a dot to see its row; drag a rectangle to list only the rows in it.</p>
    </section>
  );
}
