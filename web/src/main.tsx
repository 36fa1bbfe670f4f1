// The page: a head with the state of things, and one of four views.

import { render } from "preact";
import { useState } from "preact/hooks";
import { act, connection, follow, problem, state } from "./api";
import { Columns } from "./columns";
import { Files } from "./files";
import { Filters, List, Threshold } from "./list";
import { Map } from "./map";
import { RowPanel } from "./row";
import { filter, narrow, selected, type View, view } from "./store";
import { TakeAway } from "./takeaway";
import { Answers, answer, said } from "./teach";
import { count } from "./words";
import "./app.css";

const VIEWS: { name: View; title: string }[] = [
  { name: "columns", title: "Columns" },
  { name: "rows", title: "Rows" },
  { name: "answers", title: "Answers" },
  { name: "files", title: "Take away" },
];

function Banner() {
  if (connection.value === "denied")
    return (
      <p class="banner" role="alert">
        <b>This address is not valid any more.</b> Use the one that paribus printed when it was started. Your answers are in their file.
      </p>
    );
  if (connection.value === "lost")
    return (
      <p class="banner" role="alert">
        <b>The server does not answer.</b> What you decided is in the file of answers. This page goes on by itself as soon as the server is
        back; if you stopped it, start paribus explore again and use the new address.
      </p>
    );
  return null;
}

function Progress() {
  const job = state.value?.job;
  if (!job) return null;
  return (
    <div class="progress" role="status">
      <span>
        {job.what} {job.share !== null && `${Math.floor(100 * job.share)} %`}
      </span>
      <progress max={1} value={job.share ?? undefined} aria-label={job.what} />
      <button type="button" onClick={() => void act("cancel")}>
        Cancel
      </button>
    </div>
  );
}

function Messages() {
  const text = problem.value || state.value?.message;
  return (
    <>
      {text && (
        <div class="message" role="alert">
          <span>{text}</span>
          <button
            type="button"
            class="link"
            onClick={() => {
              problem.value = "";
              if (state.value?.message) void act("dismiss");
            }}
          >
            Dismiss
          </button>
        </div>
      )}
      <p class="unseen" role="status">
        {said.value}
      </p>
    </>
  );
}

function Head({ chooses, onChoose }: { chooses: boolean; onChoose: () => void }) {
  const now = state.value;
  return (
    <header>
      <span class="brand">
        paribus <span>explorer</span>
      </span>
      {now?.file && (
        <span class="file-now">
          <b>{now.file}</b> <span class="muted">{count(now.n_rows ?? 0, "row")}</span>{" "}
          <button type="button" class="link" onClick={onChoose}>
            {chooses ? "back" : "open another"}
          </button>
        </span>
      )}
      {now?.file && !chooses && (
        <nav aria-label="Views">
          {VIEWS.map(({ name, title }) => (
            <button
              key={name}
              type="button"
              class="tab"
              aria-current={view.value === name ? "page" : undefined}
              disabled={name !== "columns" && !now.result}
              onClick={() => (view.value = name)}
            >
              {title}
              {name === "answers" && now.answers.length > 0 && <span class="badge">{now.answers.length}</span>}
            </button>
          ))}
        </nav>
      )}
    </header>
  );
}

function Groups() {
  const groups = state.value!.result!.groups;
  if (groups === null) return <p class="muted">Groups of rows with the same cause are being searched for …</p>;
  if (groups.length === 0) return null;
  return (
    <details class="card groups" open={groups.length <= 4}>
      <summary>
        <h2>{count(groups.length, "group")} of rows with the same cause</h2>
      </summary>
      <ul>
        {groups.map((group) => (
          <li key={group.number}>
            <p>
              <b>{count(group.size, "row")}</b>: {group.rule}
            </p>
            <p class="muted">
              {group.fit}; {group.chance}; {group.when}
            </p>
            <div class="buttons">
              <button
                type="button"
                aria-pressed={filter.value.group === group.number}
                onClick={() => narrow({ group: filter.value.group === group.number ? 0 : group.number })}
              >
                {filter.value.group === group.number ? "Show all" : "Show rows"}
                <span class="unseen"> of group {group.number}</span>
              </button>
              <button type="button" onClick={() => void answer.give("confirmed", { rule: group.known_rule }, `group of ${group.size} rows`)}>
                Real<span class="unseen">: group {group.number}</span>
              </button>
              <button type="button" onClick={() => void answer.give("false alarm", { rule: group.known_rule }, `group of ${group.size} rows`)}>
                False alarm<span class="unseen">: group {group.number}</span>
              </button>
              <button type="button" onClick={() => void answer.give("known cause", { rule: group.known_rule }, `group of ${group.size} rows`)}>
                Known cause<span class="unseen">: group {group.number}</span>
              </button>
            </div>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Compare() {
  const now = state.value!;
  if (now.results.length < 2) return null;
  const other = now.results.find((each) => each.number === now.compared);
  const name = (each: { number: number; context: string[]; behavior: string[] }) =>
    `result ${each.number}: ${each.behavior.join(", ")} given ${each.context.join(", ")}`;
  return (
    <div class="card compare">
      <label class="choice grow">
        <span>Result</span>
        <select
          value={String(now.result!.number)}
          onChange={(event) => void act("show", { number: Number(event.currentTarget.value), compared: now.result!.number })}
        >
          {now.results.map((each) => (
            <option key={each.number} value={String(each.number)}>
              {name(each)}
            </option>
          ))}
        </select>
      </label>
      <label class="choice">
        <span>Compared with</span>
        <select
          value={String(now.compared ?? "")}
          onChange={(event) => {
            narrow({ change: "" });
            void act("show", { compared: event.currentTarget.value === "" ? null : Number(event.currentTarget.value) });
          }}
        >
          <option value="">nothing</option>
          {now.results
            .filter((each) => each.number !== now.result!.number)
            .map((each) => (
              <option key={each.number} value={String(each.number)}>
                result {each.number}
              </option>
            ))}
        </select>
      </label>
      {other && (
        <div class="buttons">
          {(["appeared", "went"] as const).map((change) => (
            <button
              key={change}
              type="button"
              aria-pressed={filter.value.change === change}
              onClick={() => narrow({ change: filter.value.change === change ? "" : change })}
            >
              {other[change] ?? 0} {change}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function Rows() {
  return (
    <div class={`rows-view${selected.value === null ? "" : " has-row"}`}>
      <div class="side">
        <Compare />
        {state.value!.kind === "report" && (
          <p class="note">
            <b>This is a report.</b> It holds {count(state.value!.result!.n_rows, "row")}: those that were flagged when it was written, with
            what was said about them. Filter, map and mark them here; they teach the order of this list, and the answers work with the table
            too. Comparable rows, what if, a lower threshold and other columns need the table or the model.
          </p>
        )}
        <section class="card list-card" aria-label="Rows">
          <Threshold />
          <Filters />
          <List />
        </section>
        <Groups />
      </div>
      <div class="side">
        <Map />
        <RowPanel />
      </div>
    </div>
  );
}

function App() {
  const [chooses, setChooses] = useState(false);
  const now = state.value;
  const isChoosing = now !== null && (now.file === null || chooses);
  if (chooses && now?.job) setChooses(false);
  return (
    <>
      <Banner />
      <Head chooses={chooses} onChoose={() => setChooses(!chooses)} />
      <Progress />
      <main>
        <h1 class="unseen">paribus explorer</h1>
        <Messages />
        {isChoosing && !now.job && <Files />}
        {now && !isChoosing && (view.value === "columns" || !now.result) && <Columns />}
        {now?.result && !isChoosing && view.value === "rows" && <Rows />}
        {now?.result && !isChoosing && view.value === "answers" && <Answers />}
        {now?.result && !isChoosing && view.value === "files" && <TakeAway />}
      </main>
    </>
  );
}

render(<App />, document.getElementById("app")!);
void follow();
