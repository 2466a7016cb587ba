import { until } from "../support/until.ts";
import {
  countOpenWork,
  findChatFaults,
  findProviderFaults,
  findStoredFaults,
  readRequests,
  type StoredRequest,
} from "./audit.ts";
import { loadUntilGone, type Sent, sendChat } from "./load.ts";
import type { Plan } from "./points.ts";
import { CHAT_MODEL } from "./provider.ts";
import type { CrashWorld } from "./world.ts";

/** What one kill did. */
export type KillOutcome = {
  readonly faults: readonly string[];
  /** Complete answers and accepted jobs. */
  readonly acknowledged: number;
  /** Requests whose clients received no complete answer, and those of them that were charged. */
  readonly unanswered: number;
  readonly unansweredCharged: number;
  /** From the start of the next process until every hold and job had ended. */
  readonly recoveredMs: number;
};

/** Kills the product under load, starts it again, and compares what it stored with what its clients received. */
export async function killOnce(world: CrashWorld, plan: Plan): Promise<KillOutcome> {
  const { providers, queries, secret, tripwire } = world;
  const known = await readRequests(queries);
  providers.chunkPauseMs = plan.chunkPauseMs;
  await world.arm(plan.trip);
  const { origin } = world.product();
  const sent = await loadUntilGone({ origin, secret, tripwire }, plan);
  await world.killed(plan.trip);
  const startedMs = performance.now();
  await world.start();
  const recoveredMs = performance.now() - startedMs;
  const repeats = await repeatKeyed(world, sent);
  // The product returns what it holds in advance when no request follows.
  await until(async () => (await countOpenWork(queries)) === 0);
  const requests = await readRequests(queries);
  const added = [...requests.values()].filter(({ id }) => !known.has(id));
  const faults = [
    ...sent.refusals,
    ...repeats.faults,
    ...(await findStoredFaults(queries)),
    ...findChatFaults(sent.chats, requests),
    ...findProviderFaults(providers),
    ...findExtraRequests(added, sent, repeats.fresh),
  ];
  return { faults, recoveredMs, ...count(sent, added, repeats.fresh) };
}

/**
 * Sends the chats with a key again, as their clients would, until it is known what becomes of each: the first answer
 * comes again, a chat that was not charged is run again, and one that was charged is refused.
 */
async function repeatKeyed(world: CrashWorld, { chats }: Sent) {
  const { providers, secret, tripwire } = world;
  const { origin } = world.product();
  const faults: string[] = [];
  let fresh = 0;
  for (const chat of chats) {
    if (chat.key === undefined) continue;
    const { reply, text } = await until(async () => {
      const reply = await sendChat({ origin, secret, tripwire }, chat);
      const text = await reply.text();
      return !text.includes("idempotency_in_progress") && { reply, text };
    });
    const isReplay = reply.headers.get("idempotent-replayed") === "true";
    if (reply.status === 409) continue;
    if (reply.status !== 200) faults.push(`${reply.status} for the key of ${chat.prompt}: ${text}`);
    else if (!isReplay) {
      fresh++;
      providers.repeated.add(chat.prompt);
    }
    if (chat.answer !== undefined && (!isReplay || text !== chat.answer))
      faults.push(`an answer was not replayed: ${chat.prompt}: ${text}`);
  }
  return { faults, fresh };
}

/** No request was stored that no client had sent. */
function findExtraRequests(added: readonly StoredRequest[], sent: Sent, fresh: number): readonly string[] {
  const most = sent.chats.length + fresh + sent.submissions;
  return added.length > most ? [`${added.length} requests are stored of ${most} that were sent`] : [];
}

function count({ chats, jobs }: Sent, added: readonly StoredRequest[], fresh: number) {
  const answered = chats.filter(({ answer }) => answer !== undefined).length;
  const charged = added.filter(({ settlements, model }) => settlements > 0 && model === CHAT_MODEL).length;
  return {
    acknowledged: answered + jobs.length,
    unanswered: chats.length - answered,
    unansweredCharged: charged - answered - fresh,
  };
}
