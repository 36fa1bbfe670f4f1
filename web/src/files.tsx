// Choosing a file of the folder.

import { useEffect, useState } from "preact/hooks";
import { act, ask, state } from "./api";
import { size } from "./words";

interface File {
  name: string;
  size: number;
  kind: string;
}

export function Files() {
  const [files, setFiles] = useState<File[] | null>(null);
  useEffect(() => {
    ask<{ files: File[] }>("files").then((found) => setFiles(found.files), () => setFiles([]));
  }, []);
  const busy = state.value?.job != null;
  return (
    <section class="card narrow" aria-labelledby="files-title">
      <h2 id="files-title">Choose a table, a model or a report</h2>
      <p class="muted">
        Files of the folder <b>{state.value?.folder}</b>. Nothing leaves this machine.
      </p>
      {files?.length === 0 && (
        <p>There is none here. Start paribus explore in a folder with CSV, TSV, JSON lines or Parquet files, models or reports.</p>
      )}
      <ul class="files">
        {files?.map((file) => (
          <li key={file.name}>
            <button type="button" class="file" disabled={busy} onClick={() => void act("open", { file: file.name })}>
              <span class="file-name">{file.name}</span>
              <span class="muted">
                {file.kind} · {size(file.size)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
