import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import type { Context } from "./context.ts";

/** The description of every `idempotencyKey` argument. */
export const IDEMPOTENCY_KEY =
  "A client-chosen key, 1 to 255 ASCII characters. Within 24 h, repeating the same call with the same key runs it " +
  "once and returns the first response.";

/** A mutation with an idempotency key: `field` is its name, `input` all of its arguments. */
export type KeyedMutation = {
  readonly account: string;
  readonly requestId: string;
  readonly field: string;
  readonly key: string | null | undefined;
  readonly input: object;
};

/**
 * Runs a mutation once per key, by the rules of REST's `Idempotency-Key` (promises P4): a repeated call gets the bytes
 * of the first response. Without a key the mutation is simply run. Throws what `IdempotencyService.begin` throws.
 */
export async function runOnce(
  { services: { idempotency }, replayKey }: Pick<Context, "services" | "replayKey">,
  mutation: KeyedMutation,
  run: () => Promise<Buffer>,
): Promise<Buffer> {
  const { account, requestId, field, key, input } = mutation;
  if (key == null) return run();
  const bodyHash = await hashRequest({}, Buffer.from(JSON.stringify(input)));
  const begun = await idempotency.begin({
    account,
    method: "MUTATION",
    route: field,
    key,
    bodyHash,
    requestId,
    replayKey: replayKey(),
  });
  if (!("keep" in begun)) return begun.body;
  const body = await run().catch(async (error: unknown) => {
    await begun.fail(error);
    throw error;
  });
  await begun.keep({ status: 200, headers: {}, body });
  return body;
}
