import { hashRequest } from "../../src/idempotency/canonical-body.ts";
import type { Context } from "./context.ts";

/** What `idempotencyKey` means, for the schema. */
export const IDEMPOTENCY_KEY =
  "Any text of one's own, 1 to 255 characters of ASCII: within 24 h the same call with the same text is done once, " +
  "and answered again as it was.";

/** A mutation that may be repeated: `field` is its name, `input` all that it is asked. */
export type KeyedMutation = {
  readonly account: string;
  readonly requestId: string;
  readonly field: string;
  readonly key: string | null | undefined;
  readonly input: object;
};

/**
 * Runs a mutation once for its key, by the rules of REST's `Idempotency-Key` (promises P4): whoever repeats it gets
 * the bytes that the first one came to. Without a key it is simply run. Throws what `IdempotencyService.begin` throws.
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
