import type { HoldsService } from "../../src/accounts/holds.service.ts";
import type { Database } from "../../src/db/database.ts";
import { FailoverService } from "../../src/inference/dispatch/failover.service.ts";
import type { ProviderClient } from "../../src/inference/providers/provider.client.ts";
import { AppError } from "../../src/kernel/errors.ts";
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
  {
    name: "non-atomic hold",
    holds: (holds, database) =>
      changed(holds, {
        hold: (request) => readThenWrite(database, request),
      }),
  },
  {
    name: "missing unique",
    prepare: async (database) => {
      await database.rows(
        "alter table deposit drop constraint if exists deposit_chain_id_transaction_hash_log_index_key",
      );
    },
    rewrite: (sql) => sql.replace(DISTINCT, "").replace(ON_CONFLICT, ""),
  },
  { name: "double settle", rewrite: (sql) => sql.replace(OPEN_ONLY, "") },
  { name: "no expiry", holds: (holds) => changed(holds, { sweep: async () => 0 }) },
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
const OPEN_ONLY = /and h\.state \|\| '' = 'open'/;

function changed(holds: HoldsService, by: Partial<Pick<HoldsService, WatchedMethod>>): HoldsService {
  const parts = {
    hold: holds.hold.bind(holds),
    holdIn: holds.holdIn.bind(holds),
    awaitCommit: holds.awaitCommit.bind(holds),
    settle: holds.settle.bind(holds),
    settleIn: holds.settleIn.bind(holds),
    sweep: holds.sweep.bind(holds),
    lastSpendable: holds.lastSpendable.bind(holds),
    ...by,
  };
  return parts as HoldsService;
}

/** The naive implementation: check whether there is enough, then take it. */
async function readThenWrite(
  database: Database,
  request: Parameters<HoldsService["hold"]>[0],
): Promise<bigint> {
  const rows = await database.rows<{ deposit: string }>(
    "select deposit::text as deposit from account where address = $1",
    [request.account],
  );
  const deposit = BigInt(rows[0]?.deposit ?? 0);
  if (deposit < request.minimum) throw new AppError("insufficient_balance", "not enough");
  const amount = deposit < request.maximum ? deposit : request.maximum;
  await database.rows(TAKE, [
    request.id,
    request.account,
    request.keyId,
    amount.toString(),
    (deposit - amount).toString(),
    request.expiresInSeconds,
  ]);
  return amount;
}

const TAKE = `
  with moved as (
    update account set deposit = $5::numeric, held = held + $4::numeric where address = $2::text
  ), counted as (
    update api_key set held = held + $4::numeric where id = $3::uuid
  ), request as (
    insert into inference_request (id, account, api_key_id, model, provider, service_type, status, input_price,
      output_price)
    values ($1::text, $2::text, $3::uuid, 'sim', 'sim', 'chatbot', 'running', 1, 1)
  ), placed as (
    insert into hold (id, account, api_key_id, amount, from_credit, state, expires_at)
    values ($1::text, $2::text, $3::uuid, $4::numeric, 0, 'open', now() + make_interval(secs => $6::int))
  )
  insert into ledger_entry (transfer_id, book, account, amount, cause)
  values ('hold:' || $1::text, 'held', $2::text, $4::numeric, 'hold'),
    ('hold:' || $1::text, 'deposit', $2::text, -$4::numeric, 'hold')`;
