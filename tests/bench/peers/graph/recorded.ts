import type { SubgraphExecutor } from "../../../../gateway/federation/engine/subgraph-executor.ts";
import { createRemoteExecutor } from "../../../../gateway/federation/executor.remote.ts";
import type { Principal } from "../../../../src/keys/auth/principal.ts";
import { PRINCIPAL_HEADER, sealPrincipal } from "../../../../subgraphs/shared/principal-token.ts";

/** The addresses of the product's own subgraphs, and the principal of the requests. */
export type Places = {
  readonly urls: Readonly<Record<string, string>>;
  readonly secret: string;
  readonly principal: Principal;
};

/**
 * The product's subgraphs, each called once per request: from then on the answer is parsed from its JSON.
 * This measures the engine on real schemas and real answers, and not the database behind them.
 */
export function recordedExecutors({
  urls,
  secret,
  principal,
}: Places): Readonly<Record<string, SubgraphExecutor<object>>> {
  const headers = () => ({ [PRINCIPAL_HEADER]: sealPrincipal(principal, secret) });
  return Object.fromEntries(
    Object.entries(urls).map(([name, url]) => {
      const remote = createRemoteExecutor<object>({
        url: new URL("/graphql", url).href,
        headers,
        connectionParams: headers,
      });
      return [name, recorded(remote)];
    }),
  );
}

function recorded(executor: SubgraphExecutor<object>): SubgraphExecutor<object> {
  const answers = new Map<string, string>();
  return {
    ...executor,
    execute(request) {
      const key = request.text + JSON.stringify(request.variables);
      const known = answers.get(key);
      if (known !== undefined) return JSON.parse(known);
      return Promise.resolve(executor.execute(request)).then((result) => {
        answers.set(key, JSON.stringify(result));
        return result;
      });
    },
  };
}
