import { z } from "zod";
import { type NotRead, unset } from "./part-state.ts";
import { plainText, readJson } from "./read-json.ts";

/** The consensus client's status, from its `GET /status` (SPEC 4.5). */
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
      /** False when synced. */
      readonly catchingUp: boolean;
      /** The address of its signing key: 40 hexadecimal digits in upper case; undefined if it has none. */
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

/** Reads the consensus client's status. It never throws: `detail` describes the failure. */
export async function readConsensus(url: string | undefined, setting: string): Promise<ConsensusStatus> {
  if (url === undefined) return unset(setting);
  let response: Awaited<ReturnType<typeof readJson>>;
  try {
    response = await readJson(at(url, "status"));
  } catch (error) {
    return {
      state: "unreachable",
      detail: `The consensus client does not answer: ${(error as Error).message}.`,
    };
  }
  const status = statusSchema.safeParse(inner(response.body));
  if (response.status !== 200 || !status.success)
    return {
      state: "malformed",
      detail: `The response is not from a consensus client (HTTP ${response.status}).`,
    };
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
 * Whether a validator signed the newest block of this consensus client; undefined if that cannot be determined.
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

/** A validator's address in upper case, undefined for an invalid address. */
export function validatorAddress(text: string): string | undefined {
  return /^[0-9a-fA-F]{40}$/.test(text) ? text.toUpperCase() : undefined;
}

/** Most nodes respond with a JSON-RPC envelope, some without. */
function inner(body: unknown): unknown {
  return typeof body === "object" && body !== null && "result" in body ? body.result : body;
}

function at(url: string, path: string): string {
  return new URL(path, url.endsWith("/") ? url : `${url}/`).href;
}
