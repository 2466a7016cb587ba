import { describe, expect, test } from "vitest";
import { balanceAtRest } from "../../support/balance.ts";
import { MODEL } from "../../support/chain/network.ts";
import { rest } from "../../support/clients/rest-client.ts";
import { seedAccount } from "../../support/seed.ts";
import { useStack } from "../../support/stack.ts";
import { until } from "../../support/until.ts";

type Chat = {
  readonly error?: { readonly code: string; readonly message: string };
  readonly x_0g_trace?: { readonly billing: { readonly total_cost: string } };
};

describe("a database whose disk is full", () => {
  const stack = useStack();

  test("is reported, and no chat that is answered 503 is charged, also when there is space again", async () => {
    const { app, origin } = stack();
    const seeded = await seedAccount(app.database, 10n ** 18n);
    const chat = () =>
      rest<Chat>(origin, "/v1/chat/completions", seeded.secret, {
        body: { model: MODEL, messages: [{ role: "user", content: "The sea?" }] },
      });
    const ready = () => rest<{ parts: { database: string } }>(origin, "/readyz");
    let paid = 0n;
    const paidChat = async () => {
      const { status, body } = await chat();
      if (status === 200) paid += BigInt(body.x_0g_trace?.billing.total_cost ?? 0);
      return status === 200;
    };
    expect(await paidChat()).toBe(true);

    // Requests are admitted in memory and cannot be stored at their end, as in a table that cannot grow.
    await app.database.rows(`create function full_disk() returns trigger language plpgsql
      as $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`);
    await app.database.rows(
      "create trigger full_disk before insert on inference_request for each row execute function full_disk()",
    );
    for (let n = 0; n < 4; n++) {
      const { status, body } = await chat();
      expect([status, body.error]).toMatchObject([
        503,
        { code: "unavailable", message: "The database has no space left. Try again later." },
      ]);
    }
    const { status, body } = await ready();
    expect([status, body.parts.database]).toEqual([503, "no space left"]);

    await app.database.rows("drop function full_disk cascade");
    await until(paidChat);
    // The four settlements are repeated with the next renewal of the lease.
    await until(async () => (await balanceAtRest(app, seeded.account)).held === 0n);
    expect(await app.balances.byAccount(seeded.account)).toMatchObject({ total: 10n ** 18n - paid });
    const { rows } = await app.requests.list(seeded.account, { first: 20 });
    expect(rows.filter((row) => row.status === "failed").map((row) => row.errorCode)).toEqual([
      ...Array(4).fill("unavailable"),
    ]);
    await until(async () => (await ready()).status === 200);
  });
});
