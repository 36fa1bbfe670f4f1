// Teaching: what a row, a group or a rule turned out to be, and what follows from all answers.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { act, ask, problem, state } from "./api";
import { rows, selected, selectedPlace, view } from "./store";
import type { OneRow, Status, Teaching } from "./types";
import { KINDS, STATUS_WORDS, count, weightWords } from "./words";

const CHOICES: { status: Status; words: string; key: string; hint: string }[] = [
  { status: "confirmed", words: "Real", key: "r", hint: "An anomaly, as it seems: more like this" },
  { status: "false alarm", words: "False alarm", key: "f", hint: "The row is fine: less like this" },
  { status: "known cause", words: "Known cause", key: "k", hint: "Set aside; it teaches nothing" },
];

/** What was decided last, for people who cannot see the list change. */
export const said = signal("");

export const answer = {
  async give(status: Status, about: { row: number } | { rule: string }, note = ""): Promise<void> {
    // The next row of the list is the next one to look at.
    const place = selectedPlace.value;
    const next = place === null ? undefined : rows.value.get(place + 1);
    if (await act("answer", { status, note, ...about })) {
      said.value = `Marked as ${STATUS_WORDS[status]}.`;
      if ("row" in about && next) selected.value = next.row;
    }
  },
  async undo(): Promise<void> {
    if (await act("undo")) said.value = "The last decision was taken back.";
  },
  async next(how: "most telling" | "highest"): Promise<void> {
    // At once: who goes elsewhere while the answer is on its way stays there.
    view.value = "rows";
    try {
      const found = await ask<{ row: number | null }>("next", { how });
      if (found.row === null) problem.value = "No row is left to look at.";
      else selected.value = found.row;
    } catch {
      problem.value = "The server does not answer.";
    }
  },
  byKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const choice = CHOICES.find((each) => each.key === event.key);
    if (choice && selected.value !== null) {
      event.preventDefault();
      void answer.give(choice.status, { row: selected.value });
    } else if (event.key === "u") {
      event.preventDefault();
      void answer.undo();
    } else if (event.key === "n") {
      event.preventDefault();
      void answer.next("most telling");
    }
  },
};

export function AnswerButtons({ row }: { row: OneRow }) {
  const [scope, setScope] = useState<"row" | "group" | "rule">("row");
  const [rule, setRule] = useState(row.rule);
  const [note, setNote] = useState("");
  const [check, setCheck] = useState("");
  const group = state.value!.result?.groups?.find((each) => each.number === row.group);
  useEffect(() => {
    setRule(row.rule);
    setScope("row");
    setNote("");
  }, [row.row]);
  const text = scope === "group" ? (group?.known_rule ?? "") : rule;
  useEffect(() => {
    if (scope === "row") return;
    const timer = setTimeout(() => {
      ask<{ n: number; n_flagged: number }>("rule", { rule: text }).then(
        (found) => setCheck(`The rule is about ${count(found.n, "row")}, ${found.n_flagged.toLocaleString("en")} of them flagged.`),
        (error: Error) => setCheck(error.message),
      );
    }, 150);
    return () => clearTimeout(timer);
  }, [scope, text]);
  const about = scope === "row" ? { row: row.row } : { rule: text };
  return (
    <div class="teach">
      <div class="buttons" role="group" aria-label="What is it?">
        {CHOICES.map(({ status, words, key, hint }) => (
          <button
            key={status}
            type="button"
            class={`answer status-${status.replace(" ", "-")}`}
            title={hint}
            aria-pressed={row.status === status}
            onClick={() => void answer.give(status, about, note)}
          >
            {words} <kbd aria-hidden="true">{key}</kbd>
          </button>
        ))}
        <button type="button" disabled={!state.value!.can_undo} onClick={() => void answer.undo()}>
          Undo <kbd aria-hidden="true">u</kbd>
        </button>
        <button type="button" onClick={() => void answer.next("most telling")} title="The row whose answer teaches most">
          Next <kbd aria-hidden="true">n</kbd>
        </button>
      </div>
      <fieldset class="scope">
        <legend class="unseen">What the answer is about</legend>
        <label>
          <input type="radio" name="scope" checked={scope === "row"} onChange={() => setScope("row")} /> this row
        </label>
        {group && (
          <label>
            <input type="radio" name="scope" checked={scope === "group"} onChange={() => setScope("group")} /> group {group.number} (
            {count(group.size, "row")})
          </label>
        )}
        {row.rule && (
          <label>
            <input type="radio" name="scope" checked={scope === "rule"} onChange={() => setScope("rule")} /> rows like this
          </label>
        )}
        <label class="grow">
          <span class="unseen">Note</span>
          <input value={note} placeholder="note (optional)" maxLength={500} onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
      </fieldset>
      {scope !== "row" && (
        <div class="rule">
          <label>
            Rule
            <input value={text} readOnly={scope === "group"} spellcheck={false} onInput={(event) => setRule(event.currentTarget.value)} />
          </label>
          <p class="muted" aria-live="polite">
            {check}
          </p>
        </div>
      )}
    </div>
  );
}

/** What was learned, the strongest first. */
function lines(taught: Teaching): [string, string, number][] {
  const given = (condition: string) => (condition === "given all" ? "all other values" : condition.replace("given ", ""));
  return [
    ...taught.weights.map((each): [string, string, number] => [each.behavior, given(each.condition), each.weight]),
    ...taught.kinds.map((each): [string, string, number] => [`kind: ${KINDS[each.kind]}`, "", each.weight]),
  ].sort((a, b) => Math.abs(Math.log(b[2])) - Math.abs(Math.log(a[2])));
}

export function Answers() {
  const now = state.value!;
  const taught = now.teaching;
  const most = Math.max(...(taught ? lines(taught) : []).map((each) => Math.abs(Math.log(each[2]))), 0.7);
  return (
    <div class="answers-view">
      <section class="card" aria-labelledby="learned">
        <h2 id="learned">What was learned</h2>
        {!taught?.n_answers && (
          <p>
            Nothing yet. Look at a row and say what it is: <b>real</b>, a <b>false alarm</b>, or a <b>known cause</b>. The list changes at
            once.
          </p>
        )}
        {!!taught?.n_answers && (
          <>
            <p class="muted">
              How the odds that a row is of interest change with what is strange about it: × 1 before there are answers, less for what
              was a false alarm, more for what was real. So far: {taught.n_real.toLocaleString("en")} real,{" "}
              {count(taught.n_false, "false alarm")}. One answer is a hint, ten are a rule.
            </p>
            <table class="weights">
              <thead>
                <tr>
                  <th scope="col">Evidence from</th>
                  <th scope="col">given</th>
                  <th scope="col">odds</th>
                  <th scope="col">
                    <span class="unseen">picture</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {lines(taught).map(
                  ([name, condition, weight]) => (
                    <tr key={`${name} ${condition}`}>
                      <th scope="row">{name}</th>
                      <td>{condition}</td>
                      <td class="n">{weightWords(weight)}</td>
                      <td>
                        <svg class="weight" viewBox="-60 0 120 12" aria-hidden="true">
                          <line x1="0" x2="0" y1="0" y2="12" />
                          <rect
                            class={weight < 1 ? "less" : "more"}
                            x={Math.min(0, (58 * Math.log(weight)) / most)}
                            width={Math.abs((58 * Math.log(weight)) / most)}
                            y="2"
                            height="8"
                          />
                        </svg>
                      </td>
                    </tr>
                  ),
                )}
              </tbody>
            </table>
          </>
        )}
        <div class="buttons">
          <button type="button" class="primary" onClick={() => void answer.next("most telling")} disabled={!now.result}>
            Ask me about the most telling row
          </button>
          <button type="button" onClick={() => void answer.next("highest")} disabled={!now.result}>
            Show the highest score
          </button>
        </div>
      </section>
      <section class="card" aria-labelledby="answers">
        <h2 id="answers">Answers</h2>
        <p class="muted">
          {count(now.answers.length, "answer")} in <b>{now.known_file}</b>, which <code>--known</code> and <code>known=</code> take. The file
          is written after each decision.
        </p>
        <button type="button" disabled={!now.can_undo} onClick={() => void answer.undo()}>
          Undo the last decision
        </button>
        <ul class="answers">
          {now.answers.map((each, place) => (
            <li key={`${each.row} ${each.rule}`}>
              <span class={`tag status-${each.status.replace(" ", "-")}`}>{STATUS_WORDS[each.status]}</span>
              <span class="what">
                {each.row !== null ? `row ${each.row}` : each.rule}
                {each.note && <span class="muted"> · {each.note}</span>}
              </span>
              <button type="button" class="link" onClick={() => void act("take-back", { place })}>
                take back<span class="unseen"> {each.row ?? each.rule}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}
