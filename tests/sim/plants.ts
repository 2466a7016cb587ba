import { findEndedLeases, releaseLost } from "../../src/accounts/allotments/leases.store.ts";
import type { HoldsService } from "../../src/accounts/holds.service.ts";
import type { Database } from "../../src/db/database.ts";
import { FailoverService } from "../../src/inference/dispatch/failover.service.ts";
import type { ProviderClient } from "../../src/inference/providers/exchange/provider.client.ts";
import type { WatchedMethod } from "./watch.ts";

/** A bug that is planted into the simulated processes from outside; `src` never has one. */
export type Plant = {
  readonly name: string;
  /** Changes the statements that the processes send. */
  readonly rewrite?: (sql: string) => string;
  /** Changes the tables, once. */
  readonly prepare?: (database: Database) => Promise<void>;
  readonly holds?: (holds: HoldsService, database: Database) => HoldsService;
  readonly providers?: (client: ProviderClient) => ProviderClient;
  readonly failover?: typeof FailoverService;
  /** The maximum number of attempts of one chat. */
  readonly tries?: number;
};

/** The product unchanged. */
export const NO_BUG: Plant = { name: "no bug" };

/** Tries another provider even after delivered content. */
class RetryAfterContent extends FailoverService {
  override run: FailoverService["run"] = (admitted, signal, attempt) => super.run(admitted, signal, attempt);
}

/** The bugs that a simulation of money must find. */
export const BUGS: readonly Plant[] = [
  { name: "reservation that is forgotten", rewrite: (sql) => sql.replace(RESERVED, "0") },
  {
    name: "missing unique",
    prepare: async (database) => {
      await database.rows(
        "alter table deposit drop constraint if exists deposit_chain_id_transaction_hash_log_index_key",
      );
    },
    rewrite: (sql) => sql.replace(DISTINCT, "").replace(ON_CONFLICT, ""),
  },
  { name: "settlement without a receipt", rewrite: (sql) => sql.replace(DRAFTS, "as known where id < ''") },
  { name: "draft that outlives its receipt", rewrite: (sql) => sql.replace(TAKEN, TAKEN_NOT) },
  {
    name: "log that is continued at an earlier size",
    rewrite: (sql) => sql.replace(LOG_SIZE, "greatest(size - 1, 0)::text as size"),
  },
  { name: "double settle", rewrite: (sql) => sql.replace(OPEN_ONLY, "") },
  { name: "no expiry", holds: (holds) => changed(holds, { sweep: async () => 0 }) },
  {
    name: "recall that ignores requests in progress",
    rewrite: (sql) => sql.replaceAll(KEEP, KEEP_NOTHING),
  },
  {
    name: "expiry before renewal",
    holds: (holds, database) =>
      changed(holds, {
        sweep: async () => releaseLost(database, await findEndedLeases(database, 100), 100),
      }),
  },
  {
    name: "double return",
    rewrite: (sql) => sql.replace(BACK, "select account, 2 * (back - credit_back), 2 * credit_back,"),
  },
  {
    name: "allotment that survives the revocation of its key",
    rewrite: (sql) => sql.replace(OF_KEY, "false and $&"),
  },
  { name: "forgotten return", holds: (holds) => changed(holds, { beat: async () => {} }) },
  { name: "settlement repeated after it was executed", rewrite: (sql) => sql.replaceAll(MAY_END, "(true)") },
  { name: "limit counted twice", rewrite: (sql) => sql.replaceAll(COUNTED, "+ 2 * t.charged,") },
  { name: "dead process that is never found", rewrite: (sql) => sql.replace(ENDED_LEASES, "where false") },
  {
    name: "float price",
    holds: (holds) =>
      changed(holds, {
        settle: (settlement) =>
          holds.settle({
            ...settlement,
            inputCost: BigInt(Number(settlement.inputCost)),
            outputCost: BigInt(Number(settlement.outputCost)),
          }),
      }),
  },
  {
    name: "forgotten abort",
    providers: (client) =>
      ({
        post: async (...call: Parameters<ProviderClient["post"]>) => ({
          ...(await client.post(...call)),
          abort() {},
        }),
        get: client.get,
      }) as unknown as ProviderClient,
  },
  { name: "no failover", tries: 1 },
  { name: "failover after content", failover: RetryAfterContent },
  {
    name: "charge per attempt",
    holds: (holds) =>
      changed(holds, {
        settle: (settlement) => {
          const { attempts = [] } = (settlement.routing ?? {}) as { attempts?: readonly unknown[] };
          const times = BigInt(Math.max(1, attempts.length));
          const [inputCost, outputCost] = [settlement.inputCost * times, settlement.outputCost * times];
          return holds.settle({ ...settlement, inputCost, outputCost });
        },
      }),
  },
  {
    name: "price of the first provider",
    holds: (holds) => {
      const prices = new Map<string, { readonly inputPrice: bigint; readonly outputPrice: bigint }>();
      return changed(holds, {
        hold: (request) => {
          prices.set(request.id, request);
          return holds.hold(request);
        },
        settle: (settlement) => {
          const { inputPrice = 0n, outputPrice = 0n } = prices.get(settlement.id) ?? {};
          const inputCost = BigInt(settlement.inputTokens ?? 0) * inputPrice;
          const outputCost = BigInt(settlement.outputTokens ?? 0) * outputPrice;
          return holds.settle({ ...settlement, inputCost, outputCost });
        },
      });
    },
  },
  { name: "charge that ends at its hold", rewrite: (sql) => sql.replace(EXTRA, "0 as extra") },
  {
    name: "charge beyond the limit of its key",
    rewrite: (sql) => sql.replace(WITHIN_LIMIT, "cost - covered as excess"),
  },
  {
    name: "submission that is not recorded",
    rewrite: (sql) => sql.replace(SAVE, "checkpoint = coalesce(j.checkpoint, $3::text::jsonb) where"),
  },
  {
    name: "cancelled job that keeps its hold",
    holds: (holds) =>
      changed(holds, {
        settleIn: async (tx, settlement) =>
          settlement.errorCode === "cancelled" ? 0n : holds.settleIn(tx, settlement),
      }),
  },
  {
    name: "failed job that is charged",
    holds: (holds) =>
      changed(holds, {
        settleIn: (tx, settlement) =>
          holds.settleIn(
            tx,
            settlement.outcome === "failed" ? { ...settlement, outputCost: 1n } : settlement,
          ),
      }),
  },
];

/**
 * Parts of our SQL that plants remove. When one no longer exists its bug is not found, and the run says so.
 */
const DISTINCT = /distinct on \(chain_id, transaction_hash, log_index\)/;
const ON_CONFLICT =
  /on conflict \(chain_id, transaction_hash, log_index\)[\s\S]*?where deposit\.status = 'reverted'/;
const SAVE = /checkpoint = \$3::text::jsonb where/;
const EXTRA = /greatest\(least\(excess, [^;]*?\) as extra/;
const WITHIN_LIMIT = /greatest\(least\(cost - covered, [^;]*?\) as excess/;
const DRAFTS = /as known(?=\s+on conflict \(request_id\))/;
const TAKEN =
  "delete from receipt_draft where request_id = any(array(select request_id from due)) returning *";
const TAKEN_NOT = "select * from receipt_draft where request_id = any(array(select request_id from due))";
const LOG_SIZE = /size::text as size(?=, edge, last_leaf from receipt_log\s+cross join)/;
const RESERVED = "case when o.id = f.known then least(f.reserved, o.amount) else 0 end";
const KEEP = "least(keep, amount)";
const KEEP_NOTHING = "case when keep is null then amount else 0 end";
const BACK = "select account, back - credit_back, credit_back,";
const OF_KEY = "a.api_key_id = $1::uuid";
const MAY_END = /\(r\.status = 'running'\s+or r\.status = 'failed' and [^)]*\)/g;
const COUNTED = "+ t.charged,";
const ENDED_LEASES = /(?<=from process_lease\s+)where expires_at < now\(\)/;
const OPEN_ONLY = /and h\.state \|\| '' in \('open', 'lost'\)/;

function changed(holds: HoldsService, by: Partial<Pick<HoldsService, WatchedMethod>>): HoldsService {
  const parts = {
    hold: holds.hold.bind(holds),
    holdIn: holds.holdIn.bind(holds),
    commit: holds.commit.bind(holds),
    beat: holds.beat.bind(holds),
    settle: holds.settle.bind(holds),
    settleIn: holds.settleIn.bind(holds),
    sweep: holds.sweep.bind(holds),
    lastSpendable: holds.lastSpendable.bind(holds),
    ...by,
  };
  return parts as unknown as HoldsService;
}
