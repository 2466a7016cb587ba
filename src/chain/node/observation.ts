import { readFile, stat, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { type ConsensusStatus, readConsensus, signedLatest, validatorAddress } from "./consensus.client.ts";
import { type EngineStatus, probeEngine } from "./engine.client.ts";
import {
  type ExecutionClientName,
  type ExecutionStatus,
  readBlockNumber,
  readChainId,
} from "./execution.client.ts";
import { type JwtFile, readJwtFile } from "./jwt-secret.ts";
import type { NodeSettings } from "./node-settings.ts";

/** A JSON file of the consensus client. */
type StateFile = "unset" | "missing" | "malformed" | "present";

/** Another machine that may hold the validator key, by its host. */
export type OtherMachine = {
  readonly host: string;
  readonly state: ConsensusStatus["state"];
  readonly validatorAddress: string | undefined;
  /** Whether this node's validator signed that machine's newest block while this node's consensus client is down. */
  readonly ourKeySigns: boolean | undefined;
};

/** The observed state of the node, which `preflight` judges. `undefined`: not configured, or not detectable. */
export type Observation = {
  readonly consensus: ConsensusStatus;
  readonly execution: ExecutionStatus;
  readonly engine: EngineStatus;
  readonly consensusJwt: JwtFile;
  readonly executionJwt: JwtFile;
  readonly validatorState: StateFile;
  /** From the key file, else as reported by the consensus client. */
  readonly validatorAddress: string | undefined;
  readonly consensusInitialised: boolean | undefined;
  /** The client whose database the execution data is, `none` for neither. */
  readonly executionData: ExecutionClientName | "none" | undefined;
  readonly ports: readonly {
    readonly name: string;
    readonly port: number;
    readonly isOpen: boolean | undefined;
  }[];
  readonly others: readonly OtherMachine[];
  readonly publicBlock: bigint | undefined;
  readonly ethChainId: number | "unreachable" | undefined;
  /** This machine, if it has the node's folders. */
  readonly machine:
    | { readonly memoryBytes: number; readonly cpus: number; readonly diskBytes: number | undefined }
    | undefined;
};

const CONNECT_MS = 3_000;
const MAX_FILE_BYTES = 1_048_576;

/** The statuses of a node's three interfaces. */
type NodeStatuses = Pick<Observation, "consensus" | "execution" | "engine">;

/** Everything observed besides the interfaces. */
export type Surroundings = Omit<Observation, keyof NodeStatuses>;

/** Probes the engine API with the consensus client's secret, else with the execution client's. It never throws. */
export async function readEngine(settings: NodeSettings, now: Date): Promise<EngineStatus> {
  const ofConsensus = await readJwtFile(settings.consensusJwtFile);
  const jwt = ofConsensus.state === "read" ? ofConsensus : await readJwtFile(settings.executionJwtFile);
  return probeEngine(settings.engineUrl, jwt, now);
}

/** Observes files, ports and other machines concurrently. It never throws and changes nothing. */
export async function observeSurroundings(
  settings: NodeSettings,
  consensus: ConsensusStatus,
): Promise<Surroundings> {
  const { consensusHome, executionData, publicAddress, p2pPorts } = settings;
  const [consensusJwt, executionJwt, keyAddress] = await Promise.all([
    readJwtFile(settings.consensusJwtFile),
    readJwtFile(settings.executionJwtFile),
    readKeyAddress(consensusHome),
  ]);
  const ownAddress = keyAddress ?? (consensus.state === "answering" ? consensus.validatorAddress : undefined);
  const isDown = consensus.state !== "answering";
  const [validatorState, consensusInitialised, dataOf, ports, others, publicBlock, ethChainId, machine] =
    await Promise.all([
      readStateFile(consensusHome),
      consensusHome === undefined ? undefined : exists(join(consensusHome, "config", "genesis.json")),
      readExecutionData(executionData),
      Promise.all(
        [
          { name: "consensus P2P", port: p2pPorts.consensus },
          { name: "execution P2P", port: p2pPorts.execution },
        ].map(async (p2p) => ({ ...p2p, isOpen: publicAddress && (await isOpen(publicAddress, p2p.port)) })),
      ),
      Promise.all(
        settings.otherConsensusUrls.map((url) => observeOther(url, isDown ? ownAddress : undefined)),
      ),
      orUndefined(settings.publicRpcUrl, readBlockNumber),
      settings.ethRpcUrl === undefined
        ? undefined
        : readChainId(settings.ethRpcUrl).catch(() => "unreachable" as const),
      readMachine(consensusHome, executionData),
    ]);
  return {
    consensusJwt,
    executionJwt,
    validatorState,
    validatorAddress: ownAddress,
    consensusInitialised,
    executionData: dataOf,
    ports: ports.map((p2p) => ({ ...p2p, isOpen: typeof p2p.isOpen === "boolean" ? p2p.isOpen : undefined })),
    others,
    publicBlock,
    ethChainId,
    machine,
  };
}

async function observeOther(url: string, ownAddress: string | undefined): Promise<OtherMachine> {
  const status = await readConsensus(url, "NODE_OTHER_CONSENSUS_URLS");
  const isAnswering = status.state === "answering";
  return {
    host: URL.canParse(url) ? new URL(url).host : "",
    state: status.state,
    validatorAddress: isAnswering ? status.validatorAddress : undefined,
    ourKeySigns: isAnswering && ownAddress ? await signedLatest(url, ownAddress) : undefined,
  };
}

async function readKeyAddress(home: string | undefined): Promise<string | undefined> {
  if (home === undefined) return undefined;
  const key = await readJsonFile(join(home, "config", "priv_validator_key.json"));
  const address = typeof key === "object" && key !== null && "address" in key ? key.address : undefined;
  return typeof address === "string" ? validatorAddress(address) : undefined;
}

async function readStateFile(home: string | undefined): Promise<StateFile> {
  if (home === undefined) return "unset";
  const path = join(home, "data", "priv_validator_state.json");
  if (!(await exists(path))) return "missing";
  const state = await readJsonFile(path);
  return typeof state === "object" && state !== null && !Array.isArray(state) ? "present" : "malformed";
}

/** geth stores `geth/chaindata` (or `chaindata` itself), reth stores `db/mdbx.dat`. */
async function readExecutionData(folder: string | undefined): Promise<Observation["executionData"]> {
  if (folder === undefined) return undefined;
  if (await exists(join(folder, "db", "mdbx.dat"))) return "reth";
  const isGeth =
    (await exists(join(folder, "geth", "chaindata"))) || (await exists(join(folder, "chaindata")));
  return isGeth ? "geth" : "none";
}

async function readMachine(...folders: readonly (string | undefined)[]): Promise<Observation["machine"]> {
  const found: string[] = [];
  for (const folder of folders) if (folder !== undefined && (await exists(folder))) found.push(folder);
  if (found.length === 0) return undefined;
  const disks = await Promise.all(found.map((folder) => statfs(folder).catch(() => undefined)));
  const sizes = disks.flatMap((disk) => (disk ? [disk.bsize * disk.blocks] : []));
  return {
    memoryBytes: totalmem(),
    cpus: availableParallelism(),
    diskBytes: sizes.length > 0 ? Math.max(...sizes) : undefined,
  };
}

/** A file's JSON; undefined if it is invalid, longer than 1 MiB or unreadable. */
async function readJsonFile(path: string): Promise<unknown> {
  try {
    if ((await stat(path)).size > MAX_FILE_BYTES) return undefined;
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => end(true));
    socket.once("timeout", () => end(false));
    socket.once("error", () => end(false));
  });
}

function orUndefined<T>(url: string | undefined, read: (url: string) => Promise<T>): Promise<T | undefined> {
  return url === undefined ? Promise.resolve(undefined) : read(url).catch(() => undefined);
}
