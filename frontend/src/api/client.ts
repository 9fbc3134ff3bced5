// How the page calls the HTTP API: typed calls, refusals as ApiError, a key for each action.
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Problem = Schemas["ProblemView"];

/** A call was refused, or could not be made: then `status` is 0. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly title: string;
  readonly errors: readonly { field: string; detail: string }[];
  readonly retryAfterSeconds: number | null;

  constructor(problem: Partial<Problem> & { status: number; detail: string }, retryAfter: number | null = null) {
    super(problem.detail);
    this.name = "ApiError";
    this.status = problem.status;
    this.type = problem.type ?? "about:blank";
    this.title = problem.title ?? "";
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = retryAfter;
  }

  /** Whether the same call may succeed later as it is. */
  get isPassing(): boolean {
    return [0, 408, 429, 502, 503, 504].includes(this.status);
  }

  /** What is wrong with one field of the request, if anything is. */
  ofField(field: string): string | undefined {
    return this.errors.find((error) => error.field === field)?.detail;
  }
}

export const isUnauthenticated = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 401;

/** Return the path of a file or entity in a URL: its parts escaped, the slashes kept. */
export const escapePath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

export function makeClient(fetching: typeof fetch = (...call) => fetch(...call)): Client<paths> {
  return createClient<paths>({
    baseUrl: window.location.origin,
    credentials: "same-origin",
    fetch: (request: Request) => fetching(request),
    headers: { accept: "application/json" },
    pathSerializer: (path, values) =>
      path.replace(/\{(\w+)\}/g, (_, name: string) => escapePath(String(values[name] ?? ""))),
  });
}

export const api = makeClient();

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** Return what a call answers; throw ApiError for a refusal and for a gateway that is away. */
export async function take<T>(call: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError({ status: 0, title: "not reachable", detail: "Agiraph does not answer" });
  }
  if (answer.response.ok) return answer.data as T;
  const waits = Number(answer.response.headers.get("retry-after"));
  throw new ApiError(problemOf(answer), waits > 0 ? waits : null);
}

function problemOf({ error, response }: Answer<unknown>): Problem {
  const status = response.status;
  if (typeof error === "object" && error !== null && "detail" in error) {
    return { ...(error as Problem), status };
  }
  const title = response.statusText || `HTTP ${status}`;
  return { type: "about:blank", title, status, detail: title, instance: "", errors: [] };
}

/** Return a new Idempotency-Key: made when a person acts, the same for every attempt. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const keyed = (key: string) => ({ "Idempotency-Key": key });

/** Return the address at which the bytes of a file are, to be shown or downloaded. */
export function rawUrl(agent: string, place: string, path: string, run?: string): string {
  const query = new URLSearchParams({ as: "raw", ...(run ? { run } : {}) });
  return `/agents/${escapePath(agent)}/${escapePath(place)}/${escapePath(path)}?${query}`;
}
