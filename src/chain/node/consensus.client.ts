import { z } from "zod";
import { type NotRead, unset } from "./part-state.ts";
import { plainText, readJson } from "./read-json.ts";

/** How the consensus client stands, by its `GET /status` (SPEC 4.5). */
export type ConsensusStatus =
  | NotRead
  | {
      readonly state: "answering";
      readonly nodeId: string;
      readonly moniker: string;
      readonly network: string;
      readonly version: string;
      readonly latestHeight: bigint;
      readonly latestBlockAt: Date;
      /** False when it is synced. */
      readonly catchingUp: boolean;
      /** Of the key that it signs with: 40 hexadecimal digits in upper case; undefined where it has none. */
      readonly validatorAddress: string | undefined;
      readonly votingPower: bigint;
    };

const text = z.string().transform(plainText);
const integer = z.union([z.string().regex(/^\d{1,20}$/), z.int().min(0)]).transform((value) => BigInt(value));
const statusSchema = z.object({
  node_info: z
    .object({
      id: text.default(""),
      moniker: text.default(""),
      network: text.default(""),
      version: text.default(""),
    })
    .prefault({}),
  sync_info: z.object({
    latest_block_height: integer,
    latest_block_time: z.string().pipe(z.coerce.date()),
    catching_up: z.boolean(),
  }),
  validator_info: z
    .object({ address: z.string().default(""), voting_power: integer.default(0n) })
    .prefault({}),
});
const commitSchema = z.object({
  signed_header: z.object({
    commit: z.object({
      signatures: z.array(z.object({ validator_address: z.string().default("") })).max(10_000),
    }),
  }),
});

/** Asks the consensus client. It never throws: what is wrong is told. */
export async function readConsensus(url: string | undefined, setting: string): Promise<ConsensusStatus> {
  if (url === undefined) return unset(setting);
  let answer: Awaited<ReturnType<typeof readJson>>;
  try {
    answer = await readJson(at(url, "status"));
  } catch (error) {
    return {
      state: "unreachable",
      detail: `The consensus client does not answer: ${(error as Error).message}.`,
    };
  }
  const status = statusSchema.safeParse(inner(answer.body));
  if (answer.status !== 200 || !status.success)
    return { state: "malformed", detail: `What answers is no consensus client (HTTP ${answer.status}).` };
  const { node_info: node, sync_info: sync, validator_info: validator } = status.data;
  return {
    state: "answering",
    nodeId: node.id,
    moniker: node.moniker,
    network: node.network,
    version: node.version,
    latestHeight: sync.latest_block_height,
    latestBlockAt: sync.latest_block_time,
    catchingUp: sync.catching_up,
    validatorAddress: validatorAddress(validator.address),
    votingPower: validator.voting_power,
  };
}

/**
 * Whether the newest block that this consensus client knows was signed by a validator; undefined when it cannot tell.
 */
export async function signedLatest(url: string, validator: string): Promise<boolean | undefined> {
  try {
    const commit = commitSchema.safeParse(inner((await readJson(at(url, "commit"))).body));
    if (!commit.success) return undefined;
    const { signatures } = commit.data.signed_header.commit;
    return signatures.some((signature) => validatorAddress(signature.validator_address) === validator);
  } catch {
    return undefined;
  }
}

/** A validator's address in its one spelling, undefined for what is none. */
export function validatorAddress(text: string): string | undefined {
  return /^[0-9a-fA-F]{40}$/.test(text) ? text.toUpperCase() : undefined;
}

/** Nodes answer with a JSON-RPC envelope, some without. */
function inner(body: unknown): unknown {
  return typeof body === "object" && body !== null && "result" in body ? body.result : body;
}

function at(url: string, path: string): string {
  return new URL(path, url.endsWith("/") ? url : `${url}/`).href;
}
