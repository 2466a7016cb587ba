import { memoizeFor } from "../../kernel/async/memoize-for.ts";
import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { type ConsensusStatus, readConsensus } from "./consensus.client.ts";
import { type Diagnosis, diagnose } from "./diagnosis.ts";
import type { EngineStatus } from "./engine.client.ts";
import { type ExecutionClientName, type ExecutionStatus, readExecution } from "./execution.client.ts";
import type { NodeSettings } from "./node-settings.ts";
import { observeSurroundings, readEngine, type Surroundings } from "./observation.ts";
import { type PreflightCheck, preflight } from "./preflight.ts";
import { type SwitchPlan, switchPlan } from "./switch-plan.ts";

type Dependencies = { readonly settings: NodeSettings; readonly chainId: number; readonly clock: Clock };

const STATUS_TTL_MS = 1_000;
const SURROUNDINGS_TTL_MS = 5_000;

/**
 * The operator's own node (SPEC 4.5 and 7): its status, whether it follows the rules, and what its messages mean. It
 * is only read, at the configured addresses and paths; concurrent callers share one read.
 */
export class NodeService {
  readonly #dependencies: Dependencies;
  readonly #execution: () => Promise<ExecutionStatus>;
  readonly #consensus: () => Promise<ConsensusStatus>;
  readonly #engine: () => Promise<EngineStatus>;
  readonly #surroundings: () => Promise<Surroundings>;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
    const { settings, clock } = dependencies;
    this.#consensus = memoizeFor(clock, STATUS_TTL_MS, () =>
      readConsensus(settings.consensusUrl, "NODE_CONSENSUS_URL"),
    );
    this.#execution = memoizeFor(clock, STATUS_TTL_MS, () => readExecution(settings.executionUrl));
    this.#engine = memoizeFor(clock, STATUS_TTL_MS, () => readEngine(settings, clock.now()));
    this.#surroundings = memoizeFor(clock, SURROUNDINGS_TTL_MS, async () =>
      observeSurroundings(settings, await this.#consensus()),
    );
  }

  /** Throws `access_denied` unless NODE_OPERATORS or OPERATORS lists the account. */
  requireOperator(account: string): void {
    if (this.#dependencies.settings.operators.includes(account.toLowerCase())) return;
    throw new AppError(
      "access_denied",
      "Only an operator of this service may read its node (OPERATORS, NODE_OPERATORS).",
    );
  }

  /** The consensus client's status, at most 1 s old. */
  consensus(): Promise<ConsensusStatus> {
    return this.#consensus();
  }

  /** The execution client's status, at most 1 s old. */
  execution(): Promise<ExecutionStatus> {
    return this.#execution();
  }

  /** The engine API's status, at most 1 s old. */
  engine(): Promise<EngineStatus> {
    return this.#engine();
  }

  /**
   * The verdict for each rule. It uses the same cached statuses as the other methods; files, ports and other machines
   * are checked at most every 5 s.
   */
  async preflight(): Promise<readonly PreflightCheck[]> {
    const [consensus, execution, engine, surroundings] = await Promise.all([
      this.#consensus(),
      this.#execution(),
      this.#engine(),
      this.#surroundings(),
    ]);
    return preflight({ consensus, execution, engine, ...surroundings }, this.#dependencies.chainId);
  }

  /** Diagnoses a node's message; undefined for an unknown one. Throws `invalid_parameter` for one that is too long. */
  diagnose(message: string): Diagnosis | undefined {
    return diagnose(message);
  }

  /** The procedure to switch execution clients. Throws `invalid_parameter` if `from` and `to` are the same. */
  switchPlan(from: ExecutionClientName, to: ExecutionClientName): SwitchPlan {
    return switchPlan(from, to);
  }
}
