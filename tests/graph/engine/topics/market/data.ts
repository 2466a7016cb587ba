/** Rows contain their type name, which unions and interfaces need. */
export const USERS = [
  { __typename: "User", id: "u1", name: "Ann", friends: ["u2", "u3"], best: "u2", credit: 5 },
  { __typename: "User", id: "u2", name: "Bob", friends: ["u1", "gone"], best: null, credit: -1 },
  { __typename: "User", id: "u3", name: "Cid", friends: [], best: "u3", credit: 0 },
] as const;
export type User = (typeof USERS)[number];

export const PRODUCTS = [
  {
    __typename: "Product",
    upc: "p1",
    sku: { code: "s1" },
    name: "Ox",
    kind: "BOOK",
    shop: "h1",
    price: 3,
    stock: 7,
    related: ["p2", "p3"],
  },
  {
    __typename: "Product",
    upc: "p2",
    sku: { code: "s2" },
    name: "Elk",
    kind: "FILM",
    shop: "h2",
    price: 5,
    stock: null,
    related: ["p1"],
  },
  {
    __typename: "Product",
    upc: "p3",
    sku: { code: "s3" },
    name: "Yak",
    kind: "BOOK",
    shop: "none",
    price: 0,
    stock: 0,
    related: ["gone"],
  },
] as const;
export type Product = (typeof PRODUCTS)[number];

export const REVIEWS = [
  { __typename: "Review", id: "r1", stars: 5, text: "Good", author: "u1", product: "p1" },
  { __typename: "Review", id: "r2", stars: 2, text: null, author: "u2", product: "p1" },
  { __typename: "Review", id: "r3", stars: 4, text: "Fine", author: "u3", product: "gone" },
  { __typename: "Review", id: "r4", stars: 1, text: "", author: "u1", product: "p2" },
] as const;
export type Review = (typeof REVIEWS)[number];

export const SHOPS = [
  { __typename: "Shop", id: "h1", title: "Corner", owner: "u1", open: true, place: { x: 1, y: 2 } },
  { __typename: "Shop", id: "h2", title: "Square", owner: "gone", open: null, place: null },
] as const;
export type Shop = (typeof SHOPS)[number];
