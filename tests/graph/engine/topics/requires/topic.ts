import type { Topic } from "../../support/topic.ts";

type Parcel = { id: string; weight?: number | null; size?: { width: number } | null; fee?: number };

/**
 * Fields that need fields of other subgraphs (`@requires`), and fields that are returned along a path
 * (`@provides`).
 */
export const requires: Topic = {
  title: "requires and provides",
  subgraphs: {
    catalogue: {
      sdl: `
        type Query { parcels: [Parcel!]! }
        type Parcel @key(fields: "id") { id: ID! weight: Int size: Size label: String @shareable broken: Int }
        type Size { width: Int! }
      `,
      resolvers: {
        Query: {
          parcels: () => [
            { id: "1", weight: 2, size: { width: 3 }, label: "from the catalogue" },
            { id: "2", weight: null, size: null, label: "from the catalogue" },
          ],
        },
        Parcel: {
          __resolveReference: ({ id }: Parcel) => ({ id, weight: 2, label: "from the catalogue" }),
          broken: () => {
            throw new Error("boom");
          },
        },
      },
    },
    shipping: {
      sdl: `
        type Parcel @key(fields: "id") {
          id: ID!
          weight: Int @external
          size: Size @external
          fee: Int! @requires(fields: "weight size { width }")
        }
        type Size { width: Int! @external }
      `,
      resolvers: {
        Parcel: {
          __resolveReference: (parcel: Parcel) => parcel,
          fee: ({ weight, size }: Parcel) => {
            if (weight === undefined || size === undefined) throw new Error("not sent");
            return (weight ?? 10) * (size?.width ?? 10);
          },
        },
      },
    },
    insurance: {
      sdl: `
        type Query { insured: [Insured!]! }
        type Insured { parcel: Parcel! @provides(fields: "label") premium: Int }
        type Parcel @key(fields: "id") {
          id: ID!
          label: String @external
          fee: Int! @external
          premium: Int @requires(fields: "fee")
          policy(long: Boolean = false): String!
        }
      `,
      resolvers: {
        Query: { insured: () => [{ parcel: { id: "1", label: "from the insurance" } }] },
        Parcel: {
          __resolveReference: (parcel: Parcel) => parcel,
          policy: ({ id }: Parcel, { long }: { long: boolean }) => `${long ? "policy " : ""}${id}`,
          premium: ({ fee }: Parcel) => (fee ?? 0) * 100,
        },
      },
    },
  },
  cases: [
    {
      title: "required fields are fetched and passed on, nulls included, and not shown",
      query: `{ parcels { fee } }`,
      data: { parcels: [{ fee: 6 }, { fee: 100 }] },
    },
    {
      title: "a chain of requirements over three subgraphs",
      query: `{ parcels { id premium } }`,
      data: {
        parcels: [
          { id: "1", premium: 600 },
          { id: "2", premium: 10_000 },
        ],
      },
    },
    {
      title: "an alias over a required field",
      query: `{ parcels { weight: label fee } }`,
      data: {
        parcels: [
          { weight: "from the catalogue", fee: 6 },
          { weight: "from the catalogue", fee: 100 },
        ],
      },
    },
    {
      title: "a field that is provided on a path is read there",
      query: `{ insured { parcel { label } } }`,
      data: { insured: [{ parcel: { label: "from the insurance" } }] },
      asked: { insurance: 1 },
    },
    {
      title: "fields beside one whose requirement is missing are answered, and that one is not fetched",
      query: `{ parcels { id premium policy(long: true) } }`,
      down: ["shipping"],
      data: {
        parcels: [
          { id: "1", premium: null, policy: "policy 1" },
          { id: "2", premium: null, policy: "policy 2" },
        ],
      },
      errors: [
        { path: ["parcels", 0], code: "unavailable" },
        { path: ["parcels", 1], code: "unavailable" },
      ],
      asked: { catalogue: 1, insurance: 1 },
    },
    {
      title: "requirements from an unreachable subgraph: the field is not fetched",
      query: `{ parcels { id premium } }`,
      down: ["shipping"],
      data: {
        parcels: [
          { id: "1", premium: null },
          { id: "2", premium: null },
        ],
      },
      errors: [
        { path: ["parcels", 0], code: "unavailable" },
        { path: ["parcels", 1], code: "unavailable" },
      ],
      asked: { catalogue: 1 },
    },
  ],
};
