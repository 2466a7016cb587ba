const MAX_INT = 2 ** 31 - 1;

/** A chain id that an endpoint reported, for a field of type `Int`: null for one that is too large for it. */
export function chainIdOrNull(chainId: number | undefined): number | null {
  return chainId !== undefined && chainId <= MAX_INT ? chainId : null;
}
