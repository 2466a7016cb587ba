import { defineEnum } from "./enumeration.ts";

/** The direction of an order. */
export const SortDirection = defineEnum<"asc" | "desc">("SortDirection", "The direction of an order.", {
  asc: "Ascending: oldest or lowest first.",
  desc: "Descending: newest or highest first.",
});
