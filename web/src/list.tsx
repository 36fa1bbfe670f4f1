// The list of rows: a window onto any number of them, filters, and the threshold.

import { useEffect, useRef, useState } from "preact/hooks";
import { ask, state } from "./api";
import { filter, narrow, need, noFilter, rows, selected, selectedPlace, summary } from "./store";
import type { Filter, Row, Window } from "./types";
import { answer } from "./teach";
import { KINDS, STATUS_WORDS, about, count, score } from "./words";

const HEIGHT = 84;
// Browsers cannot lay out more pixels than this: a longer list is scrolled in proportion.
const TALLEST = 6_000_000;

export function Threshold() {
  const result = state.value!.result!;
  const chosen = filter.value.threshold ?? result.threshold;
  const [shown, setShown] = useState<number | null>(null);
  const timer = useRef(0);
  const { low, high } = result.scores;
  const top = Math.log1p(Math.max(...result.scores.counts));
  const width = 200 / result.scores.counts.length;
  const value = shown ?? chosen;
  const found = summary.value;
  return (
    <div class="threshold">
      <label for="threshold">Score above</label>
      <div class="slider">
        <svg viewBox="0 0 200 26" preserveAspectRatio="none" aria-hidden="true">
          {result.scores.counts.map((n, place) => {
            const tall = (26 * Math.log1p(n)) / top;
            const isAbove = low + ((place + 1) / result.scores.counts.length) * (high - low) > value;
            return <rect key={place} class={isAbove ? "above" : ""} x={place * width} width={width * 0.9} y={26 - tall} height={tall} />;
          })}
        </svg>
        <input
          id="threshold"
          type="range"
          min={low}
          max={high}
          step={(high - low) / 400}
          value={value}
          aria-valuetext={`score ${score(value)}`}
          onInput={(event) => {
            const next = Number(event.currentTarget.value);
            setShown(next);
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => {
              setShown(null);
              narrow({ threshold: next });
            }, 60);
          }}
        />
      </div>
      <output for="threshold">
        <b>{score(value)}</b>
      </output>
      {filter.value.threshold !== null && (
        <button type="button" class="link" onClick={() => narrow({ threshold: null })}>
          default
        </button>
      )}
      <p class="flagged" aria-live="polite">
        {found && (
          <>
            <b>{count(found.n_flagged, "row")}</b> flagged; {chanceWords(found)}
          </>
        )}
      </p>
    </div>
  );
}

/** How many of the flagged rows are expected to be ordinary ones. */
function chanceWords(found: Window) {
  const expected = <b>{about(found.expected_false)}</b>;
  if (found.expected_false < found.n_flagged) return <>about {expected} of them expected to be false</>;
  return <>chance alone would flag up to {expected}</>;
}

export function Filters() {
  const now = state.value!;
  const result = now.result!;
  const wanted = filter.value;
  const set = (change: Partial<Filter>) => narrow(change);
  const isFiltered = JSON.stringify({ ...wanted, threshold: null }) !== JSON.stringify(noFilter);
  return (
    <div class="filters">
      <Choice label="Rows" value={wanted.status} onChange={(status) => set({ status: status as Filter["status"] })} choices={[["open", "to look at"], ["decided", "decided"], ["all", "all rows"]]} />
      {result.has_kinds && (
        <Choice label="Kind" value={wanted.kind} onChange={(kind) => set({ kind })} choices={[["", "any"], ...Object.entries(KINDS)]} />
      )}
      <Choice label="Off most" value={wanted.column} onChange={(column) => set({ column })} choices={[["", "any column"], ...result.behavior.map((each) => [each, each] as [string, string])]} />
      {(result.groups?.length ?? 0) > 0 && (
        <Choice label="Group" value={String(wanted.group)} onChange={(group) => set({ group: Number(group) })} choices={[["0", "any"], ...result.groups!.map((each) => [String(each.number), `${each.number} (${each.size})`] as [string, string])]} />
      )}
      <Choice
        label="Sort by"
        value={`${wanted.sort}|${wanted.descending ? "d" : "a"}`}
        onChange={(value) => set({ sort: value.slice(0, -2), descending: value.endsWith("d") })}
        choices={[
          ["|d", now.answers.length ? "score, taught" : "score"],
          ...(now.answers.length ? ([["score|d", "score, untaught"]] as [string, string][]) : []),
          ...[...result.context, ...result.behavior]
            .filter((each) => now.columns.some((column) => column.name === each))
            .flatMap((each) => [
              [`${each}|d`, `${each} ↓`] as [string, string],
              [`${each}|a`, `${each} ↑`] as [string, string],
            ]),
        ]}
      />
      <label class="choice grow">
        <span>Search</span>
        <input type="search" value={wanted.search} placeholder="name or text" onChange={(event) => set({ search: event.currentTarget.value })} />
      </label>
      <RangePicker />
      {wanted.ranges.map((range, place) => (
        <button
          key={place}
          type="button"
          class="chip"
          title="Remove this filter"
          onClick={() => set({ ranges: wanted.ranges.filter((_, other) => other !== place) })}
        >
          {range.column} {range.category !== undefined ? `= ${range.category}` : `${range.low === undefined ? "up" : range.low.toPrecision(4)} to ${range.high === undefined ? "any" : range.high.toPrecision(4)}`}{" "}
          <span aria-hidden="true">×</span>
          <span class="unseen">remove</span>
        </button>
      ))}
      {isFiltered && (
        <button type="button" class="link" onClick={() => (filter.value = { ...noFilter, threshold: wanted.threshold })}>
          clear filters
        </button>
      )}
    </div>
  );
}

export function Choice({ label, value, choices, onChange }: { label: string; value: string; choices: [string, string][]; onChange: (value: string) => void }) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function RangePicker() {
  const now = state.value!;
  const [column, setColumn] = useState("");
  const [low, setLow] = useState("");
  const [high, setHigh] = useState("");
  const chosen = now.columns.find((each) => each.name === column);
  const isNumber = chosen?.histogram !== undefined && chosen.type === "numbers";
  const add = () => {
    if (!chosen) return;
    const range = isNumber
      ? { column, ...(low !== "" ? { low: Number(low) } : {}), ...(high !== "" ? { high: Number(high) } : {}) }
      : { column, category: low };
    narrow({ ranges: [...filter.value.ranges, range] });
    setColumn("");
    setLow("");
    setHigh("");
  };
  return (
    <details class="range">
      <summary>Value range</summary>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <label>
          Column
          <select value={column} onChange={(event) => setColumn(event.currentTarget.value)}>
            <option value="">choose</option>
            {now.columns.filter((each) => each.type === "numbers" || each.categories).map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        {chosen && isNumber && (
          <>
            <label>
              From
              <input type="number" step="any" value={low} onInput={(event) => setLow(event.currentTarget.value)} />
            </label>
            <label>
              To
              <input type="number" step="any" value={high} onInput={(event) => setHigh(event.currentTarget.value)} />
            </label>
          </>
        )}
        {chosen && !isNumber && (
          <label>
            Equals
            <input value={low} onInput={(event) => setLow(event.currentTarget.value)} />
          </label>
        )}
        <button type="submit" disabled={!chosen || (low === "" && high === "")}>
          Add
        </button>
      </form>
    </details>
  );
}

function Line({ row, place, n, top }: { row: Row | undefined; place: number; n: number; top: number }) {
  if (!row) return <div class="line loading" style={{ top: `${top}px` }} aria-hidden="true" />;
  const isTaught = row.taught !== null && row.score !== null && Math.abs(row.taught - row.score) > 0.005;
  return (
    <div
      id={`row-${row.row}`}
      role="option"
      class={`line${row.status ? " decided" : ""}`}
      aria-selected={selected.value === row.row}
      aria-posinset={place + 1}
      aria-setsize={n}
      style={{ top: `${top}px` }}
      onClick={() => (selected.value = row.row)}
    >
      <span class="line-score">
        <b>{score(row.taught)}</b>
        {isTaught && <small title="Score without what was taught">{score(row.score)}</small>}
      </span>
      <span class="line-main">
        <span class="line-head">
          <b class="line-name">{row.name}</b>
          <span class="tag">{row.column}</span>
          {row.group > 0 && <span class="tag">group {row.group}</span>}
          {row.status && <span class={`tag status-${row.status.replace(" ", "-")}`}>{STATUS_WORDS[row.status]}</span>}
        </span>
        <span class="line-why">{row.sentence || row.cells.join(" · ")}</span>
      </span>
    </div>
  );
}

export function List() {
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [tall, setTall] = useState(600);
  const n = summary.value?.n ?? 0;
  const total = Math.min(n * HEIGHT, TALLEST);
  const ratio = total > tall ? Math.max(1, (n * HEIGHT - tall) / (total - tall)) : 1;
  const offset = scroll * ratio;
  const first = Math.max(0, Math.floor(offset / HEIGHT));
  const last = Math.min(n - 1, Math.ceil((offset + tall) / HEIGHT));
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(() => setTall(box.current?.clientHeight ?? 600));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (n) need(first, last);
  });
  // Another filter is another list, which starts at its top.
  useEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [filter.value]);
  const show = (place: number) => {
    if (!box.current) return;
    const at = place * HEIGHT;
    if (at < offset) box.current.scrollTop = at / ratio;
    else if (at + HEIGHT > offset + tall) box.current.scrollTop = (at + HEIGHT - tall) / ratio;
  };
  const move = (place: number) => {
    const bounded = Math.max(0, Math.min(n - 1, place));
    need(bounded, bounded);
    const row = rows.value.get(bounded);
    if (row) selected.value = row.row;
    show(bounded);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const now = selectedPlace.value ?? -1;
    const page = Math.max(1, Math.floor(tall / HEIGHT) - 1);
    const target: Record<string, number> = {
      ArrowDown: now + 1,
      ArrowUp: now - 1,
      PageDown: now + page,
      PageUp: now - page,
      Home: 0,
      End: n - 1,
    };
    if (event.key in target) {
      event.preventDefault();
      move(target[event.key]);
    } else if (event.key === "Enter") {
      document.getElementById("row-panel")?.focus();
    } else {
      answer.byKey(event);
    }
  };
  // A row that was selected elsewhere, such as in the map, comes into view.
  const shownRow = useRef<number | null>(null);
  useEffect(() => {
    if (selected.value === null || selected.value === shownRow.current) return;
    shownRow.current = selected.value;
    if (selectedPlace.value !== null) show(selectedPlace.value);
    else
      void ask<{ place: number | null }>("place", { filter: filter.value, row: selected.value }).then(
        (found) => found.place !== null && show(found.place),
        () => undefined,
      );
  });
  const places = [];
  for (let place = first; place <= last; place++) places.push(place);
  const isShown = selectedPlace.value !== null && selectedPlace.value >= first && selectedPlace.value <= last;
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={`${count(n, "row")}, highest score first`}
      aria-activedescendant={isShown ? `row-${selected.value}` : undefined}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      {n === 0 && summary.value && (
        <div role="option" class="nothing" aria-selected="false" aria-disabled="true">
          No row fits. {filter.value.status === "open" ? "Lower the threshold, or show all rows." : ""}
        </div>
      )}
      <div role="presentation" class="spacer" style={{ height: `${total}px` }}>
        {places.map((place) => (
          <Line key={place} row={rows.value.get(place)} place={place} n={n} top={place * HEIGHT - offset + scroll} />
        ))}
      </div>
    </div>
  );
}
