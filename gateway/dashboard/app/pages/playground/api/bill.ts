import * as z from "zod/mini";

const trace = z.object({
  request_id: z.string(),
  provider: z.string(),
  billing: z.optional(z.object({ total_cost: z.string() })),
  tee_verified: z.optional(z.nullable(z.boolean())),
  tee_evidence: z.optional(z.nullable(z.object({ verdict: z.string() }))),
});

/** What a request cost, and who answered it: `x_0g_trace` of an answer. */
export type Bill = {
  readonly requestId: string;
  readonly provider: string;
  /** In neuron; undefined if the request was not charged. */
  readonly cost?: string | undefined;
  /** Whether the provider's signature of the answer is valid; undefined if it was not checked. */
  readonly isVerified?: boolean | undefined;
  /** The verdict of the check, such as `verified`. */
  readonly verdict?: string | undefined;
};

/** The bill in `x_0g_trace` of an answer or a header; undefined if there is none. */
export function billOf(value: unknown): Bill | undefined {
  const { data } = z.safeParse(trace, value);
  return (
    data && {
      requestId: data.request_id,
      provider: data.provider,
      cost: data.billing?.total_cost,
      isVerified: data.tee_verified ?? undefined,
      verdict: data.tee_evidence?.verdict,
    }
  );
}
