import type { Clock } from "../../kernel/clock.ts";
import { AppError } from "../../kernel/errors.ts";
import { memoizeFor } from "../memoize-for.ts";
import { type ConsensusStatus, readConsensus } from "./consensus.client.ts";
import { type Diagnosis, diagnose } from "./diagnosis.ts";
import type { EngineStatus } from "./engine.client.ts";
import { type ExecutionClientName, type ExecutionStatus, readExecution } from "./execution.client.ts";
import type { NodeSettings } from "./node-settings.ts";
import { observeSurroundings, readEngine, type Surroundings } from "./observation.ts";
import { type PreflightCheck, preflight } from "./preflight.ts";
import { type SwitchPlan, switchPlan } from "./switch-plan.ts";

type Dependencies = { readonly settings: NodeSettings; readonly chainId: number; readonly clock: Clock };

const STATUS_KEPT_MS = 1_000;
const SURROUNDINGS_KEPT_MS = 5_000;

/**
 * The operator's own node (SPEC 4.5 and 7): how it stands, whether it keeps the rules, and what its messages mean. It is
 * only ever read, at places that the configuration names; whoever asks at once shares one look.
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
    this.#consensus = memoizeFor(clock, STATUS_KEPT_MS, () =>
      readConsensus(settings.consensusUrl, "NODE_CONSENSUS_URL"),
    );
    this.#execution = memoizeFor(clock, STATUS_KEPT_MS, () => readExecution(settings.executionUrl));
    this.#engine = memoizeFor(clock, STATUS_KEPT_MS, () => readEngine(settings, clock.now()));
    this.#surroundings = memoizeFor(clock, SURROUNDINGS_KEPT_MS, async () =>
      observeSurroundings(settings, await this.#consensus()),
    );
  }

  /** Lets operators pass, whose accounts NODE_OPERATORS lists; throws `access_denied` for everyone else. */
  requireOperator(account: string): void {
    if (this.#dependencies.settings.operators.includes(account.toLowerCase())) return;
    throw new AppError(
      "access_denied",
      "Only an operator of this service may read its node (NODE_OPERATORS).",
    );
  }

  /** How the consensus client stands, at most 1 s old. */
  consensus(): Promise<ConsensusStatus> {
    return this.#consensus();
  }

  /** How the execution client stands, at most 1 s old. */
  execution(): Promise<ExecutionStatus> {
    return this.#execution();
  }

  /** How the engine API stands, at most 1 s old. */
  engine(): Promise<EngineStatus> {
    return this.#engine();
  }

  /**
   * A verdict for each rule. It judges the statuses that the other methods give out at the same time; files, ports and
   * other machines are looked at every 5 s at most.
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

  /** What a message of a node means; undefined for one that it does not know. Throws `invalid_parameter` for a long one. */
  diagnose(message: string): Diagnosis | undefined {
    return diagnose(message);
  }

  /** How to switch between execution clients. Throws `invalid_parameter` when there is nothing to switch. */
  switchPlan(from: ExecutionClientName, to: ExecutionClientName): SwitchPlan {
    return switchPlan(from, to);
  }
}
