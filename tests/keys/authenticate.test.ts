import { expect, onTestFinished, test } from "vitest";
import type { Queries } from "../../src/db/database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { AuthenticateService } from "../../src/keys/auth/authenticate.service.ts";
import { newSecret } from "../../src/keys/auth/secret.ts";
import { ManagementKeyService } from "../../src/keys/management-keys/management-key.service.ts";
import { seedAccount } from "../support/seed.ts";
import { describeDatabases, type OnEnd, openTestDatabase } from "../support/servers/database.ts";

describeDatabases("credentials", (kind) => {
  test("that arrive together are looked up together: a flood of wrong ones costs a few statements, and a valid one among them is found", async () => {
    const database = await openTestDatabase(kind, { onEnd: onTestFinished as OnEnd });
    const { account, keyId, secret } = await seedAccount(database, 0n);
    const keys = new ManagementKeyService({ database, clock: systemClock, committed: () => {} });
    const made = await keys.create(account, "reader", ["account:read", "keys:read"]);
    let statements = 0;
    const queries: Queries = {
      rows: (sql, parameters) => {
        statements++;
        return database.rows(sql, parameters);
      },
    };
    const authenticator = new AuthenticateService(queries);
    const codeOf = (text: string) =>
      authenticator.authenticate(`Bearer ${text}`).then(
        () => "valid",
        (error: { code: string }) => error.code,
      );
    const wrong = Array.from({ length: 300 }, (_, n) => codeOf(newSecret(n % 2 ? "sk-" : "mk-")));
    const [api, management] = await Promise.all([
      authenticator.authenticate(`Bearer ${secret}`),
      authenticator.authenticate(`Bearer ${made.secret}`),
    ]);
    expect(api).toEqual({ kind: "api-key", account, keyId });
    expect(management).toEqual({
      kind: "management-key",
      account,
      keyId: made.key.id,
      scopes: ["account:read", "keys:read"],
    });
    expect(new Set(await Promise.all(wrong))).toEqual(new Set(["invalid_api_key"]));
    expect(statements).toBeLessThanOrEqual(6);
    expect(await codeOf(newSecret("ws-"))).toBe("session_ended");
  });
});
