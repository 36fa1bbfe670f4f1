// Small words and numbers.

export const KINDS: Record<string, string> = {
  whole: "the row as a whole",
  combination: "values that do not go together",
  value: "one value",
};

export const STATUS_WORDS: Record<string, string> = {
  confirmed: "real",
  "false alarm": "false alarm",
  "known cause": "known cause",
};

export function count(n: number, noun: string): string {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

export function about(n: number): string {
  if (n < 0.05) return "fewer than 0.1";
  return n < 10 ? n.toFixed(1) : Math.round(n).toLocaleString("en");
}

export function score(value: number | null): string {
  if (value === null) return "–";
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export function size(bytes: number): string {
  if (bytes < 1e3) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function weightWords(weight: number): string {
  return Math.abs(Math.log(weight)) < 0.05 ? "no change" : `× ${weight.toFixed(2)}`;
}
