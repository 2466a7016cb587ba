import { concatPieces } from "../../kernel/concat-pieces.ts";
import type { ShownCost } from "../billing/shown-cost.ts";
import {
  type Edit,
  editedPieces,
  MAX_REPEATED,
  type Part,
  type Range,
  type Slot,
  valuesByName,
  valuesOf,
} from "./json-member.ts";

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const QUOTE = 0x22;
const NAMES = ["cost", "cost_usd"] as const;

/** The slots where an answer shows its cost: the values of members that are there, or whole members. */
const SLOTS = {
  cost: { value: { slot: "cost" }, member: { slot: "cost-member" } },
  cost_usd: { value: { slot: "cost-usd" }, member: { slot: "cost-usd-member" } },
} as const satisfies Record<(typeof NAMES)[number], Record<"value" | "member", Slot>>;

/**
 * The edits that show the cost in the member `usage` of a valid JSON object, whose own cost, if it has one, is not what
 * the client pays. The cost is not known yet: `costSlots` has the texts. Undefined if members are repeated too often.
 */
export function costEdits(object: Buffer): readonly Edit[] | undefined {
  const edits: Edit[] = [];
  const places = valuesOf(object, "usage");
  if (places.length > MAX_REPEATED) return undefined;
  for (const place of places) {
    const usage = objectAt(object, place);
    if (!usage) continue;
    const missing: Slot[] = [];
    const known = valuesByName(object, NAMES, usage);
    for (const [n, name] of NAMES.entries()) {
      const { value, member } = SLOTS[name];
      const stated = known[n] ?? [];
      if (stated.length > MAX_REPEATED) return undefined;
      if (stated.length === 0) missing.push(member);
      for (const range of stated) edits.push({ place: range, parts: [value] });
    }
    const end = usage.end - 1;
    if (missing.length > 0) edits.push({ place: { start: end, end }, parts: missing });
  }
  return edits;
}

/** A usage as the parts of an edit, with slots for its cost. */
export function usageWithCost(usage: object): readonly Part[] {
  return [JSON.stringify(usage).slice(0, -1), ...NAMES.map((name) => SLOTS[name].member), "}"];
}

/** The texts of the slots. A provider's own cost in dollars is replaced by null if the token's price is not known. */
export function costSlots(cost: ShownCost): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name of NAMES) {
    const digits = cost[name]?.digits;
    texts[SLOTS[name].value.slot] = digits ?? "null";
    texts[SLOTS[name].member.slot] = digits === undefined ? "" : `,"${name}":${digits}`;
  }
  return texts;
}

/** The text of a valid JSON object with the cost in its `usage`; undefined if members are repeated too often. */
export function withCost(text: string, cost: ShownCost): string | undefined {
  const object = Buffer.from(text);
  const edits = costEdits(object);
  if (!edits) return undefined;
  const { pieces, end } = editedPieces(object, edits, costSlots(cost));
  return concatPieces([...pieces, end]).toString();
}

/** The range of a value if it is an object with members, without the whitespace around it. The value is valid JSON. */
function objectAt(json: Buffer, { start, end }: Range): Range | undefined {
  const from = afterSpace(json, start);
  if (json[from] !== OPENING_BRACE || json[afterSpace(json, from + 1)] !== QUOTE) return undefined;
  let until = end;
  while (until > from && json[until - 1] !== CLOSING_BRACE) until--;
  return { start: from, end: until };
}

function afterSpace(json: Buffer, start: number): number {
  let at = start;
  while (at < json.length && (json[at] ?? 0) <= 0x20) at++;
  return at;
}
