import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import type { Context } from "./context.ts";

/** The description of every `idempotencyKey` argument. */
export const IDEMPOTENCY_KEY =
  "A string of your choice, 1 to 255 printable ASCII characters. A call repeated with the same string within 24 h is not run again: it returns the first response, or a job in its current state.";

/** The description of an `idempotencyKey` of a mutation that answers a secret. */
export const SECRET_IDEMPOTENCY_KEY =
  "A string of your choice, 1 to 255 printable ASCII characters. Repeating the call with the same string within 24 h creates no second key: it " +
  "fails with `idempotency_not_replayable`, because the secret is not stored.";

type Begun = Awaited<ReturnType<Context["services"]["idempotency"]["begin"]>>;

/** A mutation with an idempotency key: `field` is its name, `input` all of its arguments. */
export type KeyedMutation = {
  readonly account: string;
  readonly requestId: string;
  readonly field: string;
  readonly key: string | null | undefined;
  readonly input: object;
  /** Whether it creates nothing: if its process dies before it is charged, it may be run again. */
  readonly isBilled?: boolean;
};

/**
 * Runs a mutation once per key, by the rules of REST's `Idempotency-Key` (promises P4): a repeated call gets the bytes
 * of the first response. Without a key the mutation is simply run. Throws what `IdempotencyService.begin` throws.
 */
export async function runOnce(
  context: Pick<Context, "services" | "replayKey">,
  mutation: KeyedMutation,
  run: () => Promise<Buffer>,
): Promise<Buffer> {
  const begun = await begin(context, mutation);
  if (!begun) return run();
  if (!("keep" in begun)) return begun.body;
  const body = await run().catch(async (error: unknown) => {
    throw await begun.fail(error);
  });
  await begun.keep({ status: 200, headers: {}, body });
  return body;
}

/**
 * Runs a mutation that answers a secret once per key. The secret is not stored: a repeated call throws
 * `idempotency_not_replayable`, as REST's does.
 */
export async function runSecretOnce<Result>(
  context: Pick<Context, "services" | "replayKey">,
  mutation: KeyedMutation,
  run: () => Promise<Result>,
): Promise<Result> {
  const begun = await begin(context, mutation);
  if (!begun) return run();
  if (!("keep" in begun)) throw new Error("the answer of a mutation with a secret was stored");
  const result = await run().catch(async (error: unknown) => {
    throw await begun.fail(error);
  });
  await begun.keepNothing();
  return result;
}

/** Claims the key; undefined for a mutation without one. Throws what `IdempotencyService.begin` throws. */
async function begin(
  { services: { idempotency }, replayKey }: Pick<Context, "services" | "replayKey">,
  { account, requestId, field: route, key, input, isBilled = false }: KeyedMutation,
): Promise<Begun | undefined> {
  if (key == null) return undefined;
  const bodyHash = await hashRequest({}, Buffer.from(JSON.stringify(withoutNulls(input))));
  return idempotency.begin({
    ...{ account, method: "MUTATION", route, key, bodyHash, requestId, isBilled },
    replayKey: replayKey(),
  });
}

/** An input without what is null, which means the same as nothing: forms send it for empty fields. */
function withoutNulls(input: object): object {
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, name === "routing" ? withoutNulls(value) : value]),
  );
}
