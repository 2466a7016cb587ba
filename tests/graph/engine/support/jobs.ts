import { GraphQLError } from "graphql";
import type { Source } from "./sources.ts";

/** An event of a job. */
export type Job = { readonly id: string; readonly progress: number };

/** The contexts of all requests that the providers subgraph answered. */
export const contexts: object[] = [];

/** A subgraph that publishes job events, and one with their providers. */
export function jobSubgraphs(jobs: Source<Job>) {
  return {
    jobs: {
      sdl: `
        type Query { job(id: ID!): Job }
        type Subscription { jobProgress(id: ID!): Job! mine: String! refused: Job! }
        type Job @key(fields: "id") { id: ID! progress: Int! provider: Provider! label: String }
        type Provider @key(fields: "address") { address: ID! }
      `,
      resolvers: {
        Query: { job: (_: unknown, { id }: { id: string }) => ({ id, progress: 0 }) },
        Subscription: {
          jobProgress: { subscribe: () => jobs.subscribe(), resolve: (job: Job) => job },
          mine: {
            subscribe: () => jobs.subscribe(),
            resolve: (job: Job, _: object, { user }: { user: string }) => `${job.id} of ${user}`,
          },
          refused: {
            subscribe: () => {
              throw new GraphQLError("Not yours.", { extensions: { code: "insufficient_scope" } });
            },
          },
        },
        Job: { provider: () => ({ address: "0x1" }), label: ({ id }: Job) => `job ${id}` },
      },
    },
    providers: {
      sdl: `type Provider @key(fields: "address") { address: ID! uptime: Float }`,
      resolvers: {
        Provider: {
          __resolveReference: ({ address }: { address: string }, context: object) => {
            contexts.push(context);
            return { address, uptime: 0.5 };
          },
        },
      },
    },
  };
}
