import { readJson, send } from "./rest.ts";

/** Whether a gateway can serve, and the state of each of its components. */
export type Readiness = {
  readonly isReady: boolean;
  readonly status: string;
  readonly parts: Readonly<Record<string, unknown>>;
  /** The gateway's clock. */
  readonly date: string | null;
};

/** What `GET /readyz` answers. */
type Answer = Pick<Readiness, "status" | "parts">;

/** Reads `/readyz`. Throws `ConnectionLost`, or `invalid_answer` if this is no gateway. */
export async function readReadiness(url: string): Promise<Readiness> {
  const response = await send(`${url}/readyz`, { accepts: [503] });
  const { status, parts } = await readJson<Answer>(response, "parts");
  return { isReady: response.ok, status, parts, date: response.headers.get("date") };
}
