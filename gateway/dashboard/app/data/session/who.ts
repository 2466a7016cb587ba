import type { CombinedError } from "urql";
import { isAnonymous, reasonOf } from "../query/graph.ts";

type Who = {
  readonly data?:
    | { readonly viewer: { readonly account: { readonly address: string } | null } | null }
    | undefined;
  readonly error?: CombinedError | undefined;
};

/**
 * The account of the caller: null without one, undefined while it is not known. An answer without an account has an error,
 * which says whether there is no session, or a subgraph is away.
 */
export function addressOf({ data, error }: Who): string | null | undefined {
  const account = data?.viewer?.account;
  if (account) return account.address;
  return data && error && isAnonymous(error) ? null : undefined;
}

/** Why the session or the network could not be read. Having no session is not such a reason. */
export function reasonUnknown(error: CombinedError): string {
  const other = error.graphQLErrors.find((one) => !isAnonymous({ graphQLErrors: [one] }));
  return other?.message ?? reasonOf(error);
}
