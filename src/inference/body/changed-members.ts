import type { Piece } from "../../kernel/concat-pieces.ts";
import { membersOf, type Range } from "./json-member.ts";

const OPENING_BRACE = "{";
const CLOSING_BRACE = "}";
const COMMA = ",";
/** The most that a name of this many characters takes: each may be written as a six-character escape. */
const ESCAPE_LENGTH = 6;

/**
 * The pieces of a valid JSON object in which members are replaced, removed where the value is undefined, or appended. All
 * other members keep their bytes: a number that JavaScript would round keeps its digits. `written` writes a value.
 */
export function changedMembers(
  object: Buffer,
  changes: ReadonlyMap<string, unknown>,
  written: (value: unknown) => Piece,
): readonly Piece[] {
  const maxLength = ESCAPE_LENGTH * Math.max(...[...changes.keys()].map(({ length }) => length));
  const left = new Map(changes);
  const pieces: Piece[] = [];
  const add = (...parts: readonly Piece[]) => {
    pieces.push(pieces.length === 0 ? OPENING_BRACE : COMMA, ...parts);
  };
  const addMember = (name: string, value: unknown) => {
    if (value !== undefined) add(`${JSON.stringify(name)}:`, written(value));
  };
  for (const { name: place, member } of membersOf(object)) {
    const name = nameAt(object, place, maxLength);
    if (name === undefined || !changes.has(name)) {
      add(object.subarray(member.start, member.end));
      continue;
    }
    addMember(name, changes.get(name));
    left.delete(name);
  }
  for (const [name, value] of left) addMember(name, value);
  return [...(pieces.length === 0 ? [OPENING_BRACE] : pieces), CLOSING_BRACE];
}

/** The name between these quotes; undefined for one that is too long to be of interest. */
function nameAt(object: Buffer, { start, end }: Range, maxLength: number): string | undefined {
  return end - start > maxLength + 1 ? undefined : JSON.parse(object.toString("utf8", start, end + 1));
}
