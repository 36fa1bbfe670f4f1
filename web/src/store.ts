// What this tab looks at: the filter of the list, the selected row, and the view.

import { computed, effect, signal } from "@preact/signals";
import { ask, state } from "./api";
import type { Filter, Row, Window } from "./types";

export type View = "columns" | "rows" | "answers" | "files";

export const view = signal<View>("columns");
export const selected = signal<number | null>(null);

export const noFilter: Filter = {
  threshold: null,
  status: "open",
  kind: "",
  column: "",
  group: 0,
  change: "",
  search: "",
  ranges: [],
  sort: "",
  descending: true,
};
export const filter = signal<Filter>(noFilter);

export function narrow(change: Partial<Filter>): void {
  filter.value = { ...filter.value, ...change };
}

/** The part of the state that lists depend on: a new one means that rows must be fetched again. */
export const epoch = computed(() => {
  const now = state.value;
  if (!now || !now.result) return "";
  return JSON.stringify([now.file, now.result.number, now.compared, now.answers, now.result.groups === null]);
});

const PAGE = 60;
let pages = new Map<number, Promise<void> | null>();
let key = "";

/** The rows that have been fetched, by their place in the list. */
export const rows = signal<Map<number, Row>>(new Map());
export const summary = signal<Window | null>(null);
let abort = new AbortController();

/** Fetches the rows from one place in the list to another, unless they are there or on their way. */
export function need(first: number, last: number): void {
  for (let page = Math.floor(first / PAGE); page <= Math.floor(last / PAGE); page++) {
    if (!pages.has(page)) pages.set(page, fetchPage(page, key));
  }
}

async function fetchPage(page: number, wanted: string): Promise<void> {
  try {
    const found = await ask<Window>("rows", { filter: filter.value, begin: page * PAGE, n: PAGE }, abort.signal);
    if (wanted !== key) return;
    const next = new Map(page === 0 && stale ? [] : rows.value);
    stale = false;
    found.rows.forEach((row, place) => next.set(found.begin + place, row));
    rows.value = next;
    summary.value = found;
  } catch {
    if (wanted === key) pages.delete(page);
  }
}

// After a change, the old rows stay until the first new ones are there: nothing flickers.
let stale = false;

effect(() => {
  const next = `${epoch.value}|${JSON.stringify(filter.value)}`;
  if (next === key) return;
  key = next;
  abort.abort();
  abort = new AbortController();
  pages = new Map();
  stale = true;
  if (epoch.value !== "") need(0, 0);
});

/** The place of the selected row in the list, if it has been fetched. */
export const selectedPlace = computed(() => {
  for (const [place, row] of rows.value) if (row.row === selected.value) return place;
  return null;
});

// A new table starts afresh, and a new result is what one wants to see.
let file: string | null = null;
let result = 0;
effect(() => {
  const now = state.value;
  if (!now || now.columns === undefined) return;
  if (now.file !== file) {
    file = now.file;
    result = 0;
    selected.value = null;
    filter.value = noFilter;
    if (!now.result) view.value = "columns";
  }
  const number = now.result?.number ?? 0;
  if (number !== result) {
    result = number;
    filter.value = { ...filter.value, threshold: null, kind: "", column: "", group: 0, change: "" };
    if (number) view.value = "rows";
  }
});
