// Talks to the server. The token is in the fragment of the address, which browsers never send anywhere.

import { signal } from "@preact/signals";
import type { State } from "./types";

export type Connection = "connecting" | "ok" | "lost" | "denied";

export const connection = signal<Connection>("connecting");
export const state = signal<State | null>(null);
/** What went wrong with the last thing that the user asked for. */
export const problem = signal<string>("");

function headers(): Record<string, string> {
  return { authorization: `Bearer ${location.hash.slice(1)}` };
}

export class Refused extends Error {}

async function send(path: string, options: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...options, headers: headers() });
  } catch (error) {
    if ((error as Error).name !== "AbortError") connection.value = "lost";
    throw error;
  }
  if (answer.status === 401) {
    connection.value = "denied";
    throw new Refused("The address has no valid token.");
  }
  if (!answer.ok) {
    const said = (await answer.json().catch(() => null)) as { error?: string } | null;
    throw new Refused(said?.error ?? `The server answered with status ${answer.status}.`);
  }
  return answer;
}

/** Asks the server for something, and throws an error that can be shown. */
export async function ask<T>(path: string, fields: object = {}, abort?: AbortSignal): Promise<T> {
  const answer = await send(`/api/${path}`, { method: "POST", body: JSON.stringify(fields), signal: abort });
  return (await answer.json()) as T;
}

/** Does something, and shows what went wrong with it. Returns whether it worked. */
export async function act(path: string, fields: object = {}): Promise<boolean> {
  problem.value = "";
  try {
    await ask(path, fields);
    return true;
  } catch (error) {
    problem.value = error instanceof Refused ? error.message : "The server does not answer: nothing was changed.";
    return false;
  }
}

/** Fetches a file, and hands it to the user. */
export async function download(what: string): Promise<void> {
  problem.value = "";
  try {
    const answer = await send("/api/take-away", { method: "POST", body: JSON.stringify({ what }) });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = JSON.parse(answer.headers.get("x-file-name") ?? '"file"') as string;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    problem.value = error instanceof Refused ? error.message : "The server does not answer.";
  }
}

/** Keeps the state as the server has it: each request waits until something changes, in this tab or in another. */
export async function follow(): Promise<never> {
  let share = "";
  for (;;) {
    try {
      const since = state.value?.version ?? "";
      const answer = await send(`/api/state?since=${since}&share=${encodeURIComponent(share)}`, {});
      const news = (await answer.json()) as State;
      const job = news.job;
      share = job === null ? "" : `${job.what}${job.share === null ? "" : Math.floor(100 * job.share)}`;
      // Between two versions only the progress differs.
      state.value = news.columns === undefined && state.value ? { ...state.value, job } : news;
      connection.value = "ok";
    } catch {
      if (connection.value === "ok") connection.value = "lost";
      // A server that was restarted counts from the start.
      share = "";
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (connection.value === "lost" || connection.value === "denied") state.value = state.value && { ...state.value, version: -1 };
    }
  }
}
