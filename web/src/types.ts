// What the server sends; see src/paribus/explore.

export type Role = "context" | "behavior" | "id" | "none";
export type Status = "confirmed" | "false alarm" | "known cause";

export interface ColumnSummary {
  name: string;
  type: string;
  missing: number;
  distinct: number;
  histogram?: { counts: number[]; low: string; high: string };
  categories?: [string, number][];
}

export interface ColumnAdvice {
  name: string;
  looks_like: string;
  why: string;
  left_out: string | null;
  adds?: number;
  most_for?: string;
  place?: number;
  gains?: { behavior: string; alone: number; beyond: number }[];
}

export interface Group {
  number: number;
  size: number;
  rule: string;
  column: string;
  fit: string;
  chance: string;
  when: string;
  also: string[];
  known_rule: string;
}

export interface Result {
  number: number;
  roles: Record<string, Role>;
  parameters: Record<string, unknown>;
  context: string[];
  behavior: string[];
  threshold: number;
  n_rows: number;
  n_scored: number;
  n_above: number;
  expected_false: number;
  scores: { counts: number[]; low: number; high: number };
  has_kinds: boolean;
  groups: Group[] | null;
}

export interface ResultLine {
  number: number;
  context: string[];
  behavior: string[];
  n_above: number;
  appeared?: number;
  went?: number;
}

export interface Answer {
  row: string | null;
  rule: string | null;
  status: Status;
  note: string;
}

export interface Teaching {
  n_answers: number;
  n_real: number;
  n_false: number;
  weights: { behavior: string; condition: string; weight: number }[];
  kinds: { kind: string; weight: number }[];
}

export interface Job {
  what: string;
  share: number | null;
}

export interface State {
  version: number;
  folder: string;
  file: string | null;
  kind: "table" | "model" | "report" | null;
  n_rows: number | null;
  columns: ColumnSummary[];
  advice: { columns: ColumnAdvice[]; alarms: string[]; roles: Record<string, Role> } | null;
  roles: Record<string, Role>;
  parameters: { method: string; n_trees: number; false_alarms: number; categorical: string[] };
  methods: { option: string; summary: string }[];
  notes: string[];
  job: Job | null;
  message: string | null;
  results: ResultLine[];
  result: Result | null;
  compared: number | null;
  answers: Answer[];
  known_file: string | null;
  can_undo: boolean;
  teaching: Teaching | null;
}

export interface ValueRange {
  column: string;
  low?: number;
  high?: number;
  category?: string;
}

export interface Filter {
  threshold: number | null;
  status: "open" | "decided" | "all";
  kind: string;
  column: string;
  group: number;
  change: "" | "appeared" | "went";
  search: string;
  ranges: ValueRange[];
  sort: string;
  descending: boolean;
}

export interface Row {
  row: number;
  name: string;
  score: number | null;
  taught: number | null;
  rarity: string;
  kind: string;
  column: string;
  group: number;
  status: Status | "";
  note: string;
  sentence: string;
  cells: string[];
}

export interface Window {
  columns: string[];
  rows: Row[];
  begin: number;
  n: number;
  n_flagged: number;
  expected_false: number;
}

export interface BehaviorFact {
  name: string;
  value: string;
  usual: string;
  direction: string;
  rarity: string;
  partial: number | null;
  share: number;
  is_off: boolean;
  picture: string;
}

export interface OneRow {
  row: number;
  name: string;
  score: number;
  taught: number;
  rank: number;
  rarity: string;
  kind: string;
  group: number;
  status: Status | "";
  note: string;
  sentence: string;
  warnings: string[];
  rule: string;
  behavior: BehaviorFact[];
  context: { name: string; value: string; group: string; picture: string }[];
  comparable: {
    columns: string[];
    own: string[];
    rows: { row: number; name: string; cells: string[]; weight: number }[];
    n: number;
    group: string;
  } | null;
  around: {
    column: string;
    same: string[];
    rows: number[];
    moments: number[];
    texts: string[];
    scores: string[];
    series: { name: string; values: (number | null)[]; texts: string[] }[];
  } | null;
  cells: { name: string; value: string; role: Role }[];
  inputs: { name: string; value: string; role: Role; type: "number" | "time" | "category"; choices?: string[] }[];
}

export interface WhatIf {
  score: number;
  rarity: string;
  is_flagged: boolean;
  kind: string;
  behavior: { name: string; value: string; usual: string; partial: number }[];
}

export interface Axis {
  name: string;
  low: number;
  high: number;
  ticks: { at: number; text: string }[];
  categories: string[] | null;
}

export interface ScoreMap {
  x: Axis;
  y: Axis;
  n: number;
  dots?: [number, number, number][];
  cells?: { n_x: number; n_y: number; counts: [number, number, number][] };
  listed: [number, number, number, number][];
  n_listed: number;
}
