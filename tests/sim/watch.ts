import type { HoldsService } from "../../src/accounts/holds.service.ts";
import type { HoldRequest } from "../../src/accounts/holds.store.ts";
import type { StreamSink } from "../../src/inference/dispatch/stream-options.ts";
import type { LedgerModel } from "./books.ts";
import { demand, Fault } from "./fault.ts";
import type { SimChat } from "./world/chat.ts";
import { WORD } from "./world/provider.ts";

/** Runs a check and keeps its failure: a `Fault` must not reach the product as an error. */
export type RunCheck = (judge: () => void) => void;

/** What a simulated router calls. */
export type WatchedMethod =
  | "hold"
  | "holdIn"
  | "commit"
  | "settle"
  | "settleIn"
  | "sweep"
  | "beat"
  | "lastSpendable";

/** The holds of a router beside the model, which sees each answer when the product does. */
export function watchHolds(
  holds: HoldsService,
  given: {
    readonly books: LedgerModel;
    readonly nowMs: () => number;
    readonly runCheck: RunCheck;
    /** Sees a hold of a job before it is placed. */
    readonly asked: (request: HoldRequest) => void;
    readonly swept: () => void;
    /** How often this process has recalled the allotments of others. */
    readonly recalls: () => number;
  },
): HoldsService {
  const { books, nowMs, runCheck, asked, swept, recalls } = given;
  const grantedIn = new Map<string, bigint>();
  const watched: Pick<HoldsService, WatchedMethod> = {
    lastSpendable: (keyId) => holds.lastSpendable(keyId),
    beat: () => holds.beat(),
    hold: async (request) => {
      const recallsBefore = recalls();
      try {
        const granted = await holds.hold(request);
        runCheck(() => books.granted(request, granted, nowMs()));
        return granted;
      } catch (error) {
        runCheck(() => books.refused(request, error, nowMs(), recalls() > recallsBefore));
        throw error;
      }
    },
    holdIn: async (tx, request) => {
      const granted = await holds.holdIn(tx, request);
      grantedIn.set(request.id, granted);
      return granted;
    },
    commit: async (request, transact) => {
      asked(request);
      const recallsBefore = recalls();
      try {
        const result = await holds.commit(request, transact);
        runCheck(() => books.granted(request, grantedIn.get(request.id) ?? 0n, nowMs()));
        return result;
      } catch (error) {
        runCheck(() => books.refused(request, error, nowMs(), recalls() > recallsBefore));
        throw error;
      } finally {
        grantedIn.delete(request.id);
      }
    },
    settle: async (settlement) => {
      try {
        const charged = await holds.settle(settlement);
        runCheck(() => books.settled(settlement, charged, nowMs()));
        return charged;
      } catch (error) {
        runCheck(() => books.settleFailed(settlement, error));
        throw error;
      }
    },
    settleIn: async (tx, settlement) => {
      const charged = await holds.settleIn(tx, settlement);
      if (charged !== undefined) runCheck(() => books.jobEnds(settlement, charged));
      return charged;
    },
    sweep: async () => {
      const count = await holds.sweep();
      if (count > 0) swept();
      return count;
    },
  };
  return watched as unknown as HoldsService;
}

/** The client of a streamed chat: it reads every word once, and its bill after the last. */
export function watchedSink(chat: SimChat, leaving: AbortSignal, runCheck: RunCheck): StreamSink {
  let text = "";
  let words = 0;
  return {
    start() {},
    write: (bytes) => {
      text += bytes.toString();
      words += bytes.toString().split(WORD).length - 1;
      const isEnd = text.endsWith("data: [DONE]\n\n");
      runCheck(() => demand(words <= chat.words, `the client of ${chat.id} received a word twice`));
      if (isEnd) runCheck(() => demand(words === chat.words, `words to ${chat.id} were lost`));
      if (isEnd) readBill(chat, text);
      return true;
    },
    end() {},
    abort() {},
    isClosed: () => leaving.aborted,
    onDrain() {},
    onClose: (listener) => leaving.addEventListener("abort", listener, { once: true }),
  };
}

/** Records the cost that an answer reports. */
export function readBill(chat: SimChat, text: string): void {
  const [, bill] = /"total_cost":"(\d+)"/.exec(text) ?? [];
  if (bill === undefined) throw new Fault(`the answer to ${chat.id} has no bill`);
  chat.bill = BigInt(bill);
}
