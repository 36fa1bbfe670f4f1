// What can be taken away.

import { useEffect, useState } from "preact/hooks";
import { ask, download, state } from "./api";
import { epoch } from "./store";

const FILES: { what: string; title: string; hint: string }[] = [
  { what: "csv", title: "List as CSV", hint: "All rows with scores, answers and sentences" },
  { what: "parquet", title: "List as Parquet", hint: "The same, with types" },
  { what: "report", title: "Report", hint: "One HTML file to read, send or print" },
  { what: "model", title: "Model", hint: "To score new rows; it contains the rows of the table" },
  { what: "script", title: "Python script", hint: "Repeats what was done" },
  { what: "command", title: "Shell command", hint: "Repeats what was done" },
];

export function TakeAway() {
  const [words, setWords] = useState<{ script: string; command: string; note: string } | null>(null);
  const [busy, setBusy] = useState("");
  const isReport = state.value!.kind === "report";
  useEffect(() => {
    void ask<{ script: string; command: string; note: string }>("words").then(setWords, () => undefined);
  }, [epoch.value]);
  return (
    <div class="take-view">
      <section class="card" aria-labelledby="take">
        <h2 id="take">Take away</h2>
        <div class="takes">
          {FILES.filter(({ what }) => !isReport || what === "csv" || what === "parquet").map(({ what, title, hint }) => (
            <button
              key={what}
              type="button"
              class="take"
              disabled={busy !== ""}
              aria-busy={busy === what}
              onClick={async () => {
                setBusy(what);
                await download(what);
                setBusy("");
              }}
            >
              <b>{title}</b>
              <span class="muted">{busy === what ? "is being made …" : hint}</span>
            </button>
          ))}
        </div>
        <p class="muted">
          The answers are in <b>{state.value!.known_file}</b> already.
          {isReport && " A report holds no detector: open the table or the model for a model, a script or a new report."}
        </p>
      </section>
      {words?.script && (
        <section class="card" aria-labelledby="repeat">
          <h2 id="repeat">Repeat it</h2>
          <h3>In the shell</h3>
          <pre class="wrapped" tabIndex={0} role="region" aria-label="Shell command">{words.command}</pre>
          {words.note && <p class="muted">{words.note}</p>}
          <h3>In Python</h3>
          <pre tabIndex={0} role="region" aria-label="Python script">{words.script}</pre>
        </section>
      )}
    </div>
  );
}
