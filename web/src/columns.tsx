// Columns and their roles: by dragging, with the menu of each column, or with a key.

import { useState } from "preact/hooks";
import { act, state } from "./api";
import { view } from "./store";
import type { ColumnAdvice, ColumnSummary, Role } from "./types";
import { count } from "./words";

const ROLES: { role: Role; title: string; hint: string }[] = [
  { role: "context", title: "Context", hint: "Circumstances: rows that are alike in these are compared." },
  { role: "behavior", title: "Behavior", hint: "What is judged: is it unusual, given the context?" },
  { role: "id", title: "Row name", hint: "Names the rows in lists and in the file of answers." },
  { role: "none", title: "Not used", hint: "Shown with the rows, and nothing more." },
];
const KEYS: Record<string, Role> = { c: "context", b: "behavior", i: "id", n: "none" };

export function setRole(name: string, role: Role): void {
  void act("roles", { roles: { [name]: role } });
}

function Histogram({ column }: { column: ColumnSummary }) {
  if (column.histogram) {
    const { counts, low, high } = column.histogram;
    const top = Math.max(...counts, 1);
    const width = 120 / counts.length;
    return (
      <div class="histogram">
        <svg viewBox="0 0 120 34" preserveAspectRatio="none" role="img" aria-label={`Distribution from ${low} to ${high}`}>
          {counts.map((n, place) => (
            <rect key={place} x={place * width} width={width * 0.9} y={34 - (32 * n) / top - (n ? 1 : 0)} height={(32 * n) / top + (n ? 1 : 0)} />
          ))}
        </svg>
        <span class="ends muted">
          <span>{low}</span>
          <span>{high}</span>
        </span>
      </div>
    );
  }
  const most = column.categories?.[0]?.[1] ?? 1;
  return (
    <ul class="shares">
      {column.categories?.slice(0, 3).map(([name, n]) => (
        <li key={name}>
          <svg viewBox="0 0 40 8" aria-hidden="true">
            <rect width={(40 * n) / most} height="8" />
          </svg>
          <span>{name}</span>
        </li>
      ))}
    </ul>
  );
}

function Advice({ said }: { said: ColumnAdvice }) {
  const best = said.gains?.reduce((a, b) => (b.alone > a.alone ? b : a));
  return (
    <p class="advice">
      <b>{said.looks_like}</b>
      {said.adds !== undefined && said.adds <= 0.005 && " · adds nothing that can be measured"}
      {said.adds !== undefined && said.adds > 0.005 && (
        <>
          {" "}
          · <span class="gain">adds {said.adds.toFixed(2)} bits</span>, most about {said.most_for}
        </>
      )}
      {said.adds === undefined && best !== undefined && best.alone > 0.005 && (
        <>
          {" "}
          · says {best.alone.toFixed(2)} bits about {best.behavior}
        </>
      )}
      {said.left_out !== null && <span class="warn"> · left out: {said.left_out}</span>}
    </p>
  );
}

function Card({ column, role, said }: { column: ColumnSummary; role: Role; said?: ColumnAdvice }) {
  const now = state.value!;
  const isCoded = now.parameters.categorical.includes(column.name);
  return (
    <li
      class="column"
      draggable={now.kind === "table"}
      onDragStart={(event) => event.dataTransfer?.setData("text/plain", column.name)}
      onKeyDown={(event) => {
        const wanted = KEYS[event.key];
        if (wanted && now.kind === "table" && (event.target as HTMLElement).tagName !== "INPUT") {
          event.preventDefault();
          setRole(column.name, wanted);
        }
      }}
    >
      <div class="column-head">
        <span class="grip" aria-hidden="true">⠿</span>
        <b class="column-name">{column.name}</b>
        <label>
          <span class="unseen">Role of {column.name}</span>
          <select
            value={role}
            data-column={column.name}
            disabled={now.kind !== "table"}
            onChange={(event) => setRole(column.name, event.currentTarget.value as Role)}
          >
            {ROLES.map((each) => (
              <option key={each.role} value={each.role}>
                {each.title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Histogram column={column} />
      <p class="muted">
        {column.type}, {column.distinct.toLocaleString("en")} distinct
        {column.missing > 0 && `, ${column.missing.toLocaleString("en")} missing`}
      </p>
      {said && <Advice said={said} />}
      {now.kind === "table" && column.histogram && role !== "none" && role !== "id" && (
        <label class="check">
          <input
            type="checkbox"
            checked={isCoded}
            onChange={() => {
              const others = now.parameters.categorical.filter((each) => each !== column.name);
              void act("parameters", { parameters: { categorical: isCoded ? others : [...others, column.name] } });
            }}
          />{" "}
          the numbers are codes
        </label>
      )}
    </li>
  );
}

export function Columns() {
  const now = state.value!;
  const [over, setOver] = useState<Role | null>(null);
  const said = new Map(now.advice?.columns.map((each) => [each.name, each]));
  const ready = Object.values(now.roles).includes("context") && Object.values(now.roles).includes("behavior");
  const isTable = now.kind === "table";
  return (
    <div class="columns-view">
      <section class="card start">
        <div>
          <h2>{isTable ? "Which columns are circumstances, and which are behavior?" : now.kind === "report" ? "The columns of the listed rows" : "The columns of the model"}</h2>
          <p class="muted" hidden={!isTable}>
            Drag a column, choose in its menu, or press <kbd>c</kbd> <kbd>b</kbd> <kbd>i</kbd> <kbd>n</kbd> while it has
            the focus. {now.advice ? "The roles below are a proposal from what the columns say about each other." : ""}
          </p>
        </div>
        {isTable && <Parameters />}
        <div class="go">
          {isTable && (
            <button type="button" class="primary" disabled={!ready || now.job !== null} onClick={() => void act("fit")}>
              Find unusual rows
            </button>
          )}
          {isTable && !ready && <span class="muted">Choose at least one column as context and one as behavior.</span>}
          {!isTable && <span class="muted">A {now.kind} has its columns: open the table to choose others.</span>}
          {now.result && (
            <button type="button" onClick={() => (view.value = "rows")}>
              Back to the rows
            </button>
          )}
        </div>
        {now.advice?.alarms.map((alarm) => (
          <p key={alarm} class="note">
            <b>Warning:</b> {alarm}.
          </p>
        ))}
        {now.notes.map((note) => (
          <p key={note} class="muted">
            {note}
          </p>
        ))}
      </section>
      <div class="roles">
        {ROLES.map(({ role, title, hint }) => {
          const columns = now.columns.filter((column) => now.roles[column.name] === role);
          return (
            <section
              key={role}
              class={`role role-${role}${over === role ? " over" : ""}`}
              aria-labelledby={`role-${role}`}
              onDragOver={(event) => {
                event.preventDefault();
                setOver(role);
              }}
              onDragLeave={() => setOver(null)}
              onDrop={(event) => {
                event.preventDefault();
                setOver(null);
                const name = event.dataTransfer?.getData("text/plain");
                if (name && name in now.roles) setRole(name, role);
              }}
            >
              <h3 id={`role-${role}`}>
                {title} <span class="muted">{columns.length}</span>
              </h3>
              <p class="muted">{hint}</p>
              <ul>
                {columns.map((column) => (
                  <Card key={column.name} column={column} role={role} said={said.get(column.name)} />
                ))}
              </ul>
              {columns.length === 0 && <p class="empty muted">{isTable ? "Drop columns here" : "none"}</p>}
            </section>
          );
        })}
      </div>
    </div>
  );
}

function Parameters() {
  const now = state.value!;
  const { method, n_trees, false_alarms } = now.parameters;
  const change = (parameters: object) => void act("parameters", { parameters });
  return (
    <details class="parameters">
      <summary>Method and parameters</summary>
      <div class="fields">
        <label>
          Method
          <select
            value={method}
            onChange={(event) => {
              const next = event.currentTarget.value;
              change({ method: next, n_trees: next === "surprise" ? 64 : 100 });
            }}
          >
            {now.methods.map((each) => (
              <option key={each.option} value={each.option}>
                {each.option}: {each.summary}
              </option>
            ))}
          </select>
        </label>
        {method === "surprise" && (
          <label>
            False alarms
            <select value={String(false_alarms)} onChange={(event) => change({ false_alarms: Number(event.currentTarget.value) })}>
              {[0.01, 0.001, 0.0001].map((each) => (
                <option key={each} value={String(each)}>
                  1 in {count(1 / each, "ordinary row")}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Trees
          <select value={String(n_trees)} onChange={(event) => change({ n_trees: Number(event.currentTarget.value) })}>
            {[...new Set([16, 32, 64, 100, 128, 256, n_trees])].sort((a, b) => a - b).map((each) => (
              <option key={each} value={String(each)}>
                {each}
              </option>
            ))}
          </select>
        </label>
      </div>
    </details>
  );
}
