import { defineEnum } from "./enumeration.ts";

/** The direction of an order. */
export const SortDirection = defineEnum<"asc" | "desc">("SortDirection", "The direction of an order.", {
  asc: "Ascending: the oldest or the least first.",
  desc: "Descending: the newest or the greatest first.",
});
