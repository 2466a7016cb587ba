import type { TestSubgraph } from "./federation.ts";

/** The people, as the fast subgraph has them. */
export const PEOPLE = ["1", "2", "3"].map((id) => ({
  id,
  name: `name ${id}`,
  address: { city: `city ${id}` },
}));

/** The length of a list of 16 MB. */
export const MANY = 8_000;

/** Subgraphs over people, one of which waits until a test lets it answer, and what happened in them. */
export type SlowPeople = {
  readonly subgraphs: Readonly<Record<string, TestSubgraph>>;
  /** What happened, in order. */
  readonly events: string[];
  /** From now on the slow subgraph waits for the returned function. */
  hold(): () => void;
};

/** Creates the subgraphs. */
export function createSlowPeople(): SlowPeople {
  const events: string[] = [];
  let gate = Promise.resolve();
  const subgraphs = {
    people: {
      sdl: `
        type Query { many: [Person!]! people: [Person!]! person: Person nobody: Person sealed: Int failing: Int }
        type Mutation { rename(name: String!): Person }
        type Person @key(fields: "id") { id: ID! name: String! address: Address }
        type Address { city: String! }
      `,
      resolvers: {
        Query: {
          many: () => Array.from({ length: MANY }, (_, id) => ({ id: String(id), name: "x".repeat(2_000) })),
          people: () => PEOPLE,
          person: () => PEOPLE[0],
          nobody: () => null,
          sealed: () => 1,
          failing: () => {
            throw new Error("failing");
          },
        },
        Mutation: {
          rename: (_: unknown, { name }: { name: string }) => {
            events.push(`renamed ${name}`);
            return { ...PEOPLE[0], name };
          },
        },
        Person: { __resolveReference: ({ id }: { id: string }) => PEOPLE.find((one) => one.id === id) },
      },
    },
    slow: {
      sdl: `
        type Query { slow: String }
        type Person @key(fields: "id") { id: ID! score: Int rank: Int! friends: [Person!] broken: Int strict: Int! }
      `,
      resolvers: {
        Query: {
          slow: async () => {
            events.push("slow asked");
            await gate;
            events.push("slow answers");
            return "at last";
          },
        },
        Person: {
          __resolveReference: async ({ id }: { id: string }) => {
            events.push(`slow asked for ${id}`);
            await gate;
            return { id };
          },
          score: ({ id }: { id: string }) => Number(id) * 10,
          rank: ({ id }: { id: string }) => Number(id),
          friends: ({ id }: { id: string }) => PEOPLE.filter((one) => one.id !== id),
          broken: () => {
            throw new Error("broken");
          },
          strict: () => {
            throw new Error("strict");
          },
        },
      },
    },
    notes: {
      sdl: `type Person @key(fields: "id") { id: ID! note: String }`,
      resolvers: {
        Person: {
          __resolveReference: ({ id }: { id: string }) => {
            events.push(`notes asked for ${id}`);
            return { id };
          },
          note: ({ id }: { id: string }) => `note ${id}`,
        },
      },
    },
  };
  return {
    subgraphs: subgraphs as never,
    events,
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}
