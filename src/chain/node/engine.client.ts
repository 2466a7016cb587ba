import { engineToken, type JwtFile } from "./jwt-secret.ts";
import { type NotRead, unset } from "./part-state.ts";
import { readJson } from "./read-json.ts";

/** The engine API's status (SPEC 4.5). `undefined` means not tested. */
export type EngineStatus =
  | NotRead
  | {
      readonly state: "answering";
      /** Whether it accepts calls with the consensus client's secret. */
      readonly takesSecret: boolean | undefined;
      /** Whether it rejects calls without a secret, as it must. */
      readonly refusesOthers: boolean;
      readonly detail: string;
    };

/** A read-only call that every engine API must support. */
const CALL = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] } as const;

/** Calls the engine API once with the secret and once without. It never throws: `detail` describes the failure. */
export async function probeEngine(url: string | undefined, jwt: JwtFile, now: Date): Promise<EngineStatus> {
  if (url === undefined) return unset("NODE_ENGINE_URL");
  try {
    const bare = await readJson(url, { body: CALL });
    const refusesOthers = bare.status === 401 || bare.status === 403;
    if (jwt.state !== "read")
      return {
        state: "answering",
        takesSecret: undefined,
        refusesOthers,
        detail: "It listens; no authenticated call was made, because no secret file could be read.",
      };
    const headers = { authorization: `Bearer ${engineToken(jwt.secret, now)}` };
    const { status, body } = await readJson(url, { body: CALL, headers });
    const takesSecret = status === 200 && typeof body === "object" && body !== null && "result" in body;
    const detail = takesSecret ? "It accepts the secret." : `It returns HTTP ${status} for the secret.`;
    return { state: "answering", takesSecret, refusesOthers, detail };
  } catch (error) {
    return { state: "unreachable", detail: `The engine API does not listen: ${(error as Error).message}.` };
  }
}
