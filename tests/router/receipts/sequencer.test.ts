// @module-tag large
import { randomBytes } from "node:crypto";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { HoldsService } from "../../../src/accounts/holds.service.ts";
import type { Database, Transaction } from "../../../src/db/database.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { AppError } from "../../../src/kernel/errors.ts";
import { createLogger } from "../../../src/kernel/log.ts";
import type { ReceiptDraft } from "../../../src/receipts/draft.ts";
import { openCheckpoint } from "../../../src/receipts/format/checkpoint.ts";
import { verifyConsistency } from "../../../src/receipts/format/merkle-log.ts";
import { verifyBundle } from "../../../src/receipts/format/proof-bundle.ts";
import { receiptKeyOf } from "../../../src/receipts/receipt-key.ts";
import { ReceiptsService } from "../../../src/receipts/receipts.service.ts";
import { readCheckpoint } from "../../../src/receipts/receipts.store.ts";
import { ReturnedHashes } from "../../../src/receipts/returned-hashes.ts";
import { ReceiptSequencer } from "../../../src/receipts/sequencer.runner.ts";
import { requestFor, settlementOf } from "../../support/admissions.ts";
import { findReceiptFaults, findUnreceipted, rootOf } from "../../support/receipt-audit.ts";
import { type Seeded, seedAccount } from "../../support/seed.ts";
import { describeDatabases, openTestDatabase } from "../../support/servers/database.ts";
import { until } from "../../support/until.ts";

/** The digest of a body. */
const digest = () => randomBytes(32).toString("hex");

const log = createLogger("silent");
const key = receiptKeyOf(Buffer.alloc(32, 7));

/** What may happen to one settled request, or to the processes that write receipts. */
type Act =
  | { readonly kind: "settle"; readonly form: "whole" | "returned" | "lost" | "none" }
  | { readonly kind: "sequence"; readonly limit: number; readonly crashAt: number | undefined }
  | { readonly kind: "race" }
  | { readonly kind: "sign" };

const act = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("whole", "returned", "lost", "none").map(settle) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("sequence" as const),
      limit: fc.integer({ min: 1, max: 5 }),
      crashAt: fc.option(fc.nat(4), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom("race", "sign").map((kind) => ({ kind }) as Act) },
);

function settle(form: "whole" | "returned" | "lost" | "none"): Act {
  return { kind: "settle", form };
}

describeDatabases("the log of receipts", (kind) => {
  test("has one leaf for every settled request, in every order of crashes, and only grows", async () => {
    const world = await World.open(await openTestDatabase(kind));
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25 }), async (acts) => {
        for (const one of acts) await world.run(one);
        await world.finish();
      }),
      { numRuns: 12 },
    );
    await world.stop();
    expect(world.settled.size).toBeGreaterThan(30);
    await world.requireProofs();
  });

  test("is written once by processes that race, and none of their receipts is lost", async () => {
    const database = await openTestDatabase(kind);
    const world = await World.open(database);
    for (let n = 0; n < 60; n++) await world.run(settle("whole"));
    const processes = [world.sequencer, newSequencer(database), newSequencer(database)];
    for (let left = 1; left > 0; ) {
      await Promise.all(processes.map((one) => one.sequence(7)));
      [{ left = 0 } = {}] = await database.rows<{ left: number }>(
        "select count(*)::int as left from receipt_draft",
      );
    }
    await world.stop();
    expect(await findReceiptFaults(database)).toEqual([]);
    expect(await findUnreceipted(database)).toEqual([]);
  });

  test("has a signed head while there are more receipts to write than one slice has", async () => {
    const database = await openTestDatabase(kind);
    const world = await World.open(database);
    for (let n = 0; n < 201; n++) await world.run(settle("whole"));
    const sequencer = newSequencer(database, 3_600);
    sequencer.start();
    await until(async () => (await database.rows("select 1 from receipt_draft")).length === 0);
    await sequencer.stop();
    expect(await readCheckpoint(database)).toMatchObject({ size: 200 });
    await world.stop();
  });

  test("does not prove a charge that is changed in the database", async () => {
    const database = await openTestDatabase(kind);
    const world = await World.open(database);
    await world.run(settle("whole"));
    await world.finish();
    await world.stop();
    const [id = ""] = world.settled;
    const reach = { account: world.owner.account };
    const bundle = await world.receipts.bundle(reach, id);
    expect(verifyBundle(bundle, key)).toMatchObject({ isSigned: true, isIncluded: true });
    const body = () =>
      database.rows<{ body: string }>("select body from receipt where request_id = $1", [id]);
    const [stored] = await body();
    const changed = stored?.body.replace(/"charge":"\d+"/, '"charge":"1"');
    expect(changed).not.toBe(stored?.body);
    await database.rows("update receipt set body = $2 where request_id = $1", [id, changed]);
    await expect(world.receipts.bundle(reach, id)).rejects.toThrow("is not the one in the log");
    const receipt = JSON.parse(changed ?? "");
    expect(verifyBundle({ ...bundle, receipt }, key)).toMatchObject({ isSigned: false, isIncluded: false });
    await database.rows("update receipt set body = $2 where request_id = $1", [id, stored?.body]);
  });

  test("does not depend on the requests", async () => {
    const database = await openTestDatabase(kind);
    const world = await World.open(database);
    await world.run(settle("whole"));
    await world.finish();
    await world.stop();
    const [id = ""] = world.settled;
    const reach = { account: world.owner.account, keyId: world.owner.keyId };
    const before = await world.receipts.bundle(reach, id);
    const kept = await database.rows<{ request: string }>(
      "delete from inference_request r where id = $1 returning to_json(r)::text as request",
      [id],
    );
    expect(await world.receipts.bundle(reach, id)).toEqual(before);
    await expect(world.receipts.bundle({ ...reach, keyId: undefined, account: "0x" }, id)).rejects.toThrow(
      AppError,
    );
    // The ledger needs the request.
    await database.rows(
      "insert into inference_request select * from json_populate_record(null::inference_request, $1::json)",
      [kept[0]?.request],
    );
  });
});

function newSequencer(database: Database, checkpointSeconds = 0): ReceiptSequencer {
  return new ReceiptSequencer({ database, clock: systemClock, key, log, checkpointSeconds });
}

/** A process that settles requests, and others that write their receipts and may die at any statement. */
class World {
  readonly settled = new Set<string>();
  readonly heads: { readonly size: number; readonly root: Uint8Array }[] = [];
  readonly owner: Seeded;
  readonly receipts: ReceiptsService;
  readonly sequencer: ReceiptSequencer;
  readonly #database: Database;
  readonly #holds: HoldsService;
  readonly #returned: ReturnedHashes;

  private constructor(database: Database, owner: Seeded) {
    this.#database = database;
    this.owner = owner;
    this.#holds = new HoldsService({ database, log, committed: () => {} });
    this.#returned = new ReturnedHashes(database, log);
    this.sequencer = newSequencer(database);
    this.receipts = new ReceiptsService({
      ...{ queries: database, key, returned: this.#returned, retryAfterSeconds: 1 },
      signatureOf: async () => undefined,
    });
  }

  static async open(database: Database): Promise<World> {
    return new World(database, await seedAccount(database, 10n ** 12n));
  }

  async run(one: Act): Promise<void> {
    if (one.kind === "settle") await this.#settle(one.form);
    else if (one.kind === "sign") await this.#sign();
    else if (one.kind === "race")
      await Promise.all([this.sequencer, newSequencer(this.#database)].map((each) => each.sequence(3)));
    else if (one.crashAt === undefined) await this.sequencer.sequence(one.limit);
    else await this.#crash(one.limit, one.crashAt);
  }

  /** Writes what is left: drafts whose process died are due by now. */
  async finish(): Promise<void> {
    await this.#returned.flush();
    await this.#database.rows("update receipt_draft set ready_at = now() - interval '1 second'");
    while ((await this.sequencer.sequence()) > 0);
    await this.#sign();
    expect(await findReceiptFaults(this.#database)).toEqual([]);
    expect(await findUnreceipted(this.#database)).toEqual([]);
    const rows = await this.#database.rows<{ id: string }>("select request_id as id from receipt");
    expect(rows.map(({ id }) => id).toSorted()).toEqual([...this.settled].toSorted());
  }

  /** Consistency proofs hold from every head that was signed, and every receipt is under the newest. */
  async requireProofs(): Promise<void> {
    for (const { size: from, root: fromRoot } of this.heads) {
      const { size, hashes, checkpoint } = await this.receipts.consistency(from);
      const head = openCheckpoint(checkpoint, key);
      expect(head?.size).toBe(size);
      const root = head?.root ?? fromRoot;
      const proof = hashes.map(hexToBytes);
      expect(verifyConsistency({ from, fromRoot, size, root, proof })).toBe(true);
    }
    for (const id of this.settled) {
      const bundle = await this.receipts.bundle({ account: this.owner.account }, id);
      expect(verifyBundle(bundle, key)).toMatchObject({ isSigned: true, isIncluded: true });
    }
  }

  async stop(): Promise<void> {
    await this.#returned.stop();
    await this.#holds.stop();
  }

  async #settle(form: "whole" | "returned" | "lost" | "none"): Promise<void> {
    const request = requestFor(this.owner, 1_000n);
    await this.#holds.hold(request);
    const receipt: ReceiptDraft | undefined =
      form === "none"
        ? undefined
        : {
            ...{ endpoint: "/v1/chat/completions", modelAnswered: "m" },
            ...{ received: digest(), forwarded: digest(), answered: undefined },
            returned: undefined,
            awaitsReturned: form !== "whole",
          };
    await this.#holds.settle({ ...settlementOf(request.id, 700n), receipt });
    this.settled.add(request.id);
    if (form === "returned") this.#returned.add(request.id, digest());
  }

  /** Sequences until the statement `at` of the transaction, at which the process dies. */
  async #crash(limit: number, at: number): Promise<void> {
    let statements = 0;
    const dying = new Proxy(this.#database, {
      get: (database, name) => {
        if (name !== "transaction") return Reflect.get(database, name, database);
        return (work: (tx: Transaction) => Promise<unknown>) =>
          database.transaction((tx) =>
            work({
              em: tx.em,
              rows: (sql, parameters) => {
                if (statements++ === at) throw new Error("killed");
                return tx.rows(sql, parameters);
              },
            }),
          );
      },
    });
    await newSequencer(dying)
      .sequence(limit)
      .catch((error: Error) => expect(error.message).toBe("killed"));
  }

  async #sign(): Promise<void> {
    await this.sequencer.sign();
    const stored = await readCheckpoint(this.#database);
    const head = stored && openCheckpoint(stored.note, key);
    if (!head) return;
    expect(bytesToHex(head.root)).toBe(bytesToHex(await rootOf(this.#database, head.size)));
    if (this.heads.at(-1)?.size !== head.size) this.heads.push(head);
  }
}
