import { ask, type GraphResult } from "../support/clients/graph-client.ts";
import { rest } from "../support/clients/rest-client.ts";
import { until } from "../support/until.ts";

/** Where a running product and its development chain are. */
export type Target = { readonly origin: string; readonly rpcUrl: string };

type Options = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** The statuses of success; 200 and 201 if absent. */
  readonly statuses?: readonly number[];
};

/** A REST call that is repeated while the product answers 503, as clients do: on a busy machine its database is late. */
export function patientRest<T>(...call: Parameters<typeof rest>): ReturnType<typeof rest<T>> {
  return until(async () => {
    const reply = await rest<T>(...call);
    return reply.status !== 503 && reply;
  });
}

/** Calls an endpoint. Throws if the status is another than expected. */
export async function call<T>(
  { origin }: Target,
  path: string,
  secret: string | undefined,
  { statuses = [200, 201], ...options }: Options = {},
): Promise<T> {
  const reply = await patientRest<T>(origin, path, secret, options);
  if (statuses.includes(reply.status)) return reply.body;
  throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
}

/** Runs a GraphQL operation and returns its data, with the same patience. Throws if it has errors. */
export async function query(
  { origin }: Target,
  secret: string | undefined,
  text: string,
  variables: object = {},
): Promise<NonNullable<GraphResult["data"]>> {
  const { data, errors } = await until(async () => {
    const result = await ask(origin, secret, text, variables);
    return !result.errors?.some(({ extensions }) => extensions?.code === "unavailable") && result;
  });
  if (errors) throw new Error(`${text}: ${JSON.stringify(errors)}`);
  return data;
}
