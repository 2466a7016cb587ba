/** A pending refund from a sub-account, neuron. It can be collected from `unlocksAt` on. */
export type Refund = {
  readonly index: bigint;
  readonly amount: bigint;
  readonly requestedAt: Date;
  readonly unlocksAt: Date;
};

type RefundRow = { readonly index: bigint; readonly amount: bigint; readonly createdAt: bigint };

/**
 * The pending refunds, oldest first. A contract keeps used rows after the first `validLength` ones, for reuse (facts:
 * router-and-chain annex A).
 */
export function pendingRefunds(
  rows: readonly RefundRow[],
  validLength: bigint,
  lockSeconds: bigint,
): readonly Refund[] {
  return rows
    .slice(0, Number(validLength))
    .filter(({ amount }) => amount > 0n)
    .map(({ index, amount, createdAt }) => ({
      index,
      amount,
      requestedAt: new Date(Number(createdAt) * 1_000),
      unlocksAt: new Date(Number(createdAt + lockSeconds) * 1_000),
    }))
    .sort((first, second) => first.requestedAt.getTime() - second.requestedAt.getTime());
}
