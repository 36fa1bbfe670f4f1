// One row: why it is unusual, what it is compared with, and what would be if it were different.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api";
import { epoch, selected } from "./store";
import { AnswerButtons } from "./teach";
import type { OneRow, WhatIf } from "./types";
import { KINDS, STATUS_WORDS, score } from "./words";

/** A picture that the server drew; all texts in it are escaped there. */
function Picture({ svg }: { svg: string }) {
  return <div class="picture" dangerouslySetInnerHTML={{ __html: svg }} />;
}

export function RowPanel() {
  const [row, setRow] = useState<OneRow | null>(null);
  const [failed, setFailed] = useState("");
  const chosen = selected.value;
  useEffect(() => {
    if (chosen === null) return;
    const abort = new AbortController();
    ask<OneRow>("row", { row: chosen }, abort.signal).then(
      (found) => {
        setRow(found);
        setFailed("");
      },
      (error: Error) => error.name !== "AbortError" && setFailed(error.message),
    );
    return () => abort.abort();
  }, [chosen, epoch.value]);
  if (chosen === null)
    return (
      <section class="card empty-panel">
        <p>Select a row to see why it is unusual.</p>
        <p class="muted">
          In the list: <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>Enter</kbd> reads the row, <kbd>r</kbd> <kbd>f</kbd> <kbd>k</kbd> decide,{" "}
          <kbd>u</kbd> takes it back, <kbd>n</kbd> asks about the most telling row.
        </p>
      </section>
    );
  if (failed) return <section class="card empty-panel">{failed}</section>;
  if (!row) return <section class="card empty-panel" aria-busy="true" />;
  return (
    <section id="row-panel" class="card row-panel" tabIndex={-1} aria-labelledby="row-title" aria-busy={row.row !== chosen}>
      <div class="row-head">
        <h2 id="row-title">{row.name}</h2>
        <span class="big-score">
          <b>{score(row.taught)}</b>
          <span class="muted"> rank {row.rank.toLocaleString("en")}</span>
        </span>
        <button type="button" class="close" onClick={() => (selected.value = null)}>
          <span aria-hidden="true">×</span>
          <span class="unseen">Close</span>
        </button>
      </div>
      <p class="facts muted">
        {row.rarity} ordinary rows is as strange{row.kind && ` · ${KINDS[row.kind]}`}
        {row.group > 0 && ` · group ${row.group}`}
        {row.status && ` · marked as ${STATUS_WORDS[row.status]}`}
        {row.note && ` (${row.note})`}
        {Math.abs(row.taught - row.score) > 0.005 && ` · ${score(row.score)} without what was taught`}
      </p>
      <p class="sentence">{row.sentence}</p>
      {row.warnings.map((warning) => (
        <p key={warning} class="note">
          {warning}
        </p>
      ))}
      <AnswerButtons row={row} />
      <h3>Expected and actual values</h3>
      <div class="beans">
        {row.behavior.filter((each) => each.picture).map((each) => (
          <figure key={each.name}>
            <figcaption>
              <b>{each.name}</b> <span class="muted">{each.partial === null ? "not scored" : `contributes ${score(each.partial)}`}</span>
            </figcaption>
            <Picture svg={each.picture} />
          </figure>
        ))}
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Values and what is usual">
        <table class="small">
          <thead>
            <tr>
              <th scope="col">Behavior</th>
              <th scope="col">value</th>
              <th scope="col">usual (90 %)</th>
              <th scope="col">contribution</th>
              {row.comparable && <th scope="col">how rare</th>}
            </tr>
          </thead>
          <tbody>
            {row.behavior.map((each) => (
              <tr key={each.name} class={each.is_off ? "off" : ""}>
                <th scope="row">{each.name}</th>
                <td class="n">{each.value}</td>
                <td class="n">{each.usual}</td>
                <td class="n">
                  <svg class="bar" viewBox="0 0 60 8" aria-hidden="true">
                    <rect class="room" width="60" height="8" />
                    <rect class="share" width={60 * each.share} height="8" />
                  </svg>{" "}
                  {score(each.partial)}
                </td>
                {row.comparable && <td class="long">{each.rarity}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {row.inputs.length > 0 && <WhatIfPanel key={row.row} row={row} />}
      {row.context.length > 0 && <Context row={row} />}
      {row.around && <Around row={row} />}
      {row.comparable && <Comparable name={row.name} comparable={row.comparable} />}
      <details open={row.comparable === null}>
        <summary>All values of the row</summary>
        <dl class="cells">
          {row.cells.map((cell) => (
            <div key={cell.name}>
              <dt>
                {cell.name} {cell.role !== "none" && <span class="muted">· {cell.role}</span>}
              </dt>
              <dd>{cell.value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </section>
  );
}

function Context({ row }: { row: OneRow }) {
  return (
    <>
      <h3>Context of the comparable rows</h3>
      <p class="muted keys">
        <span class="key key-rows" /> rows compared with <span class="key key-counted" /> weighted by how much they count{" "}
        <span class="key key-own" /> this row
      </p>
      <div class="profiles">
        {row.context.map((each) => (
          <figure key={each.name}>
            <figcaption>
              <b>{each.name}</b> <span class="muted">{each.value}</span>
            </figcaption>
            {each.picture ? <Picture svg={each.picture} /> : <p class="muted">mostly {each.group}</p>}
          </figure>
        ))}
      </div>
    </>
  );
}

function Comparable({ name, comparable }: { name: string; comparable: NonNullable<OneRow["comparable"]> }) {
  return (
    <>
      <h3>Comparable rows</h3>
      <p class="muted">{comparable.group}; the ones that count most:</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Comparable rows">
        <table class="small">
          <thead>
            <tr>
              <th scope="col">row</th>
              {comparable.columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <th scope="col">counts</th>
            </tr>
          </thead>
          <tbody>
            <tr class="itself">
              <th scope="row">{name}</th>
              {comparable.own.map((cell, place) => (
                <td key={place}>{cell}</td>
              ))}
              <td />
            </tr>
            {comparable.rows.map((each) => (
              <tr key={each.row}>
                <th scope="row">
                  <button type="button" class="link" onClick={() => (selected.value = each.row)}>
                    {each.name}
                  </button>
                </th>
                {each.cells.map((cell, place) => (
                  <td key={place}>{cell}</td>
                ))}
                <td class="n">{(100 * each.weight).toFixed(1)} %</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

// Who asks what would be about one row asks about the next one, too.
const isWhatIfOpen = signal(false);

function WhatIfPanel({ row }: { row: OneRow }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [leftOut, setLeftOut] = useState<string[]>([]);
  const [found, setFound] = useState<WhatIf | null>(null);
  const [failed, setFailed] = useState("");
  const isChanged = Object.keys(values).length > 0 || leftOut.length > 0;
  useEffect(() => {
    if (!isChanged) {
      setFound(null);
      setFailed("");
      return;
    }
    const abort = new AbortController();
    ask<WhatIf>("what-if", { row: row.row, values, left_out: leftOut }, abort.signal).then(
      (answer) => {
        setFound(answer);
        setFailed("");
      },
      (error: Error) => error.name !== "AbortError" && setFailed(error.message),
    );
    return () => abort.abort();
  }, [values, leftOut, row.row, isChanged]);
  const change = (name: string, value: string, own: string) => {
    const { [name]: _, ...others } = values;
    setValues(value === own ? others : { ...others, [name]: value });
  };
  return (
    <details class="what-if" open={isWhatIfOpen.value} onToggle={(event) => (isWhatIfOpen.value = event.currentTarget.open)}>
      <summary>What if …</summary>
      <p class="muted">Change a value, or leave out a circumstance, and see what the verdict would be.</p>
      <div class="inputs">
        {row.inputs.map((input) => {
          const isOut = leftOut.includes(input.name);
          const id = `what-if-${input.name}`;
          return (
            <div key={input.name} class={`input ${input.role}`}>
              <label for={id}>{input.name}</label>
              {input.choices && input.choices.length > 0 && input.choices.length <= 60 ? (
                <select id={id} disabled={isOut} value={values[input.name] ?? input.value} onChange={(event) => change(input.name, event.currentTarget.value, input.value)}>
                  {[...new Set([input.value, ...input.choices])].map((each) => (
                    <option key={each} value={each}>
                      {each || "missing"}
                    </option>
                  ))}
                </select>
              ) : (
                <input
                  id={id}
                  disabled={isOut}
                  value={values[input.name] ?? input.value}
                  inputMode={input.type === "number" ? "decimal" : "text"}
                  placeholder="missing"
                  onInput={(event) => change(input.name, event.currentTarget.value, input.value)}
                />
              )}
              {input.role === "context" && (
                <label class="check">
                  <input
                    type="checkbox"
                    checked={isOut}
                    onChange={() => setLeftOut(isOut ? leftOut.filter((each) => each !== input.name) : [...leftOut, input.name])}
                  />{" "}
                  leave out
                </label>
              )}
            </div>
          );
        })}
      </div>
      <div class="verdict" aria-live="polite">
        {failed && <p class="note">{failed}</p>}
        {!failed && found && (
          <>
            <p>
              Score <b>{score(found.score)}</b> instead of {score(row.score)}: {found.rarity} ordinary rows would be as strange.{" "}
              {found.is_flagged ? "It would be flagged." : "It would not be flagged."}
            </p>
            <div class="scroll" tabIndex={0} role="region" aria-label="Values and what would be usual">
              <table class="small">
                <thead>
                  <tr>
                    <th scope="col">Behavior</th>
                    <th scope="col">value</th>
                    <th scope="col">usual (90 %)</th>
                    <th scope="col">contribution</th>
                  </tr>
                </thead>
                <tbody>
                  {found.behavior.map((each) => (
                    <tr key={each.name}>
                      <th scope="row">{each.name}</th>
                      <td class="n">{each.value}</td>
                      <td class="n">{each.usual}</td>
                      <td class="n">{score(each.partial)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </>
        )}
        {!failed && !isChanged && <p class="muted">Nothing is changed yet.</p>}
      </div>
      {isChanged && (
        <button
          type="button"
          onClick={() => {
            setValues({});
            setLeftOut([]);
          }}
        >
          Back to the actual values
        </button>
      )}
    </details>
  );
}

function Around({ row }: { row: OneRow }) {
  const around = row.around!;
  const place = around.rows.indexOf(row.row);
  const first = around.moments[0];
  const span = around.moments[around.moments.length - 1] - first || 1;
  const box = useRef<HTMLDivElement>(null);
  const x = (moment: number) => 8 + (604 * (moment - first)) / span;
  return (
    <>
      <h3>Neighbors in time</h3>
      <p class="muted">
        {around.rows.length} rows by {around.column}
        {around.same.length > 0 && ` with the same ${around.same.join(", ")}`}, {around.texts[0]} to{" "}
        {around.texts[around.texts.length - 1]}; this row is marked.
      </p>
      <div class="series" ref={box}>
        {around.series.map((each) => {
          const known = each.values.filter((value): value is number => value !== null);
          const low = Math.min(...known);
          const range = Math.max(...known) - low || 1;
          const y = (value: number) => 62 - (52 * (value - low)) / range;
          const points = each.values.map((value, at) => (value === null ? null : ([x(around.moments[at]), y(value)] as const)));
          return (
            <figure key={each.name}>
              <figcaption>
                <b>{each.name}</b> <span class="muted">{each.texts[place]}</span>
              </figcaption>
              <svg viewBox="0 0 620 72" role="img" aria-label={`${each.name} of the rows before and after`}>
                <polyline points={points.filter((point) => point !== null).map((point) => point!.join(",")).join(" ")} />
                {points.map(
                  (point, at) =>
                    point && (
                      <circle key={at} cx={point[0]} cy={point[1]} r={at === place ? 6 : 3} class={at === place ? "own" : ""}>
                        <title>{`${around.texts[at]}: ${each.texts[at]}, score ${around.scores[at]}`}</title>
                      </circle>
                    ),
                )}
              </svg>
            </figure>
          );
        })}
      </div>
    </>
  );
}

