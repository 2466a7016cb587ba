/** A subgraph process did not accept this gateway: their secrets or their clocks differ. Clients get `unavailable`. */
export class SubgraphRefused extends Error {
  override readonly name = "SubgraphRefused";

  constructor(answer: string) {
    super(`the subgraph does not accept this gateway (${answer})`);
  }
}
