import type { ProviderBehaviour } from "../../src/devnet/provider/provider.ts";
import type { Load, Measured, Target } from "./load.ts";
import { runLoad } from "./load.ts";
import { MODEL } from "./world.ts";

/** One measurement of every target: the load, and which figures of it are shown. */
export type Scenario = {
  readonly name: string;
  readonly connections: number;
  readonly body: Buffer;
  readonly behaviour: ProviderBehaviour;
  readonly figures: readonly Figure[];
};

/** A figure and how it compares: as a quotient, or as what is added to a direct call, in milliseconds. */
export type Figure = {
  readonly label: string;
  readonly of: (measured: Measured) => number;
  readonly compare: "quotient" | "added";
};

/** What is sent, and how the provider answers it. */
export type Workload = Pick<Scenario, "body" | "behaviour">;

/** The measurements of each round, per scenario and target. */
export type Rounds = ReadonlyMap<Scenario, ReadonlyMap<Target, readonly Measured[]>>;

/** A chat of ordinary length: about 90 tokens of prompt, at most `maxTokens` of answer. */
export function chatBody(options: { readonly stream: boolean; readonly maxTokens: number }): Buffer {
  const question = "Explain in plain words how a router of language models holds money before a request. ";
  const messages = [
    { role: "system", content: "You are a careful assistant. Answer briefly and say what you do not know." },
    { role: "user", content: question.repeat(4) },
  ];
  const { stream, maxTokens } = options;
  return Buffer.from(
    JSON.stringify({ model: MODEL, messages, max_tokens: maxTokens, ...(stream && { stream }) }),
  );
}

export const UNARY_CHAT: Workload = { body: chatBody({ stream: false, maxTokens: 16 }), behaviour: {} };
/** A stream whose tokens the provider writes one by one. */
export const SPACED_STREAM: Workload = {
  body: chatBody({ stream: true, maxTokens: 64 }),
  behaviour: { chunkDelayMs: 1 },
};

/**
 * Measures every target once per round and scenario. Each round begins with another target, so that other
 * load on the machine affects all of them alike.
 */
export async function runRounds(
  scenarios: readonly Scenario[],
  targetsOf: (scenario: Scenario) => readonly Target[],
  { rounds, durationMs, behave }: { rounds: number; durationMs: number; behave(to: ProviderBehaviour): void },
): Promise<Rounds> {
  const measured = new Map<Scenario, Map<Target, Measured[]>>();
  for (let round = 0; round < rounds; round++)
    for (const scenario of scenarios) {
      const results = measured.get(scenario) ?? new Map<Target, Measured[]>();
      measured.set(scenario, results);
      behave(scenario.behaviour);
      const targets = targetsOf(scenario);
      const load: Load = { body: scenario.body, connections: scenario.connections, durationMs };
      for (const target of [
        ...targets.slice(round % targets.length),
        ...targets.slice(0, round % targets.length),
      ])
        results.set(target, [...(results.get(target) ?? []), await runLoad(target, load)]);
    }
  return measured;
}
