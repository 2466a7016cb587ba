import { isSchema, mergeSchemas, type Schema } from "./merge-schemas.ts";
import { sampleNumber, sampleText } from "./sample-scalar.ts";
import { isOf, kindsOf } from "./schema-kinds.ts";

/** Nothing optional is generated below this depth, nor after this many schemas. */
const FULL_DEPTH = 8;
const FULL_VISITS = 500;
/** Nothing at all is generated below this depth, nor after this many schemas. */
const MAX_DEPTH = 32;
const MAX_VISITS = 10_000;
/** The most schemas that one value must match. */
const MAX_PARTS = 64;
const CHARACTERS_PER_VISIT = 16;

/** The outcome for a schema without a value within the limits. */
const NONE = Symbol("none");

type Place = {
  readonly depth: number;
  /** The referenced schemas that the value is within: a further reference to one of them would never end. */
  readonly within: ReadonlySet<Schema>;
  /** The index among items that must differ. */
  readonly nth: number;
};

/** A schema without references and choices, and the referenced schemas that are part of it. */
type Variant = { readonly flat: Schema; readonly within: ReadonlySet<Schema> };

/**
 * A value that matches a JSON Schema of a tool or a structured response: every property, one item, the first choice.
 * References must be local, such as `#/$defs/Step`; recursive ones end as soon as the schema allows. Null if no value of
 * bounded size is found. Patterns, `not` and conditions are ignored.
 */
export function sampleValue(schema: unknown): unknown {
  const within = new Set(isSchema(schema) ? [schema] : []);
  const value = new Sampler(schema).value(schema, { depth: 0, within, nth: 0 });
  return value === NONE ? null : value;
}

class Sampler {
  readonly #root: unknown;
  #visits = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  value(schema: unknown, place: Place): unknown {
    if (place.depth > MAX_DEPTH) return NONE;
    for (const { flat, within } of this.#variants([schema], { flat: {}, within: place.within }, place)) {
      const value = this.#matching(flat, { ...place, within });
      if (value !== NONE) return value;
    }
    return NONE;
  }

  /** The ways to match all of `parts`, merged into `soFar`: one for each combination of their choices. */
  *#variants(parts: readonly unknown[], soFar: Variant, place: Place, taken = 0): Generator<Variant> {
    let { flat, within } = soFar;
    let waiting = parts;
    for (let count = taken; waiting.length > 0; count++) {
      const [part, ...others] = waiting;
      waiting = others;
      if (part === false || count >= MAX_PARTS || !this.#spend(1)) return;
      if (!isSchema(part)) continue;
      const { $ref: reference, allOf, anyOf, oneOf, const: constant, ...own } = part;
      flat = mergeSchemas(flat, own);
      if (constant !== undefined) flat = mergeSchemas(flat, { enum: [constant] });
      const target = typeof reference === "string" ? this.#resolve(reference) : undefined;
      if (isSchema(target)) {
        if (within.has(target)) return;
        within = new Set([...within, target]);
      }
      if (waiting.length + listOf(allOf).length > MAX_PARTS) return;
      waiting = [...waiting, target, ...listOf(allOf)];
      const choices = [anyOf, oneOf].map(listOf).filter(({ length }) => length > 0);
      const [first, second] = choices;
      if (second) waiting = [...waiting, { oneOf }];
      if (!first) continue;
      const ordered = this.#isShort(place.depth) ? first.toSorted(nullFirst) : first;
      for (const choice of ordered)
        yield* this.#variants([choice, ...waiting], { flat, within }, place, count + 1);
      return;
    }
    yield { flat, within };
  }

  /** The schema at a JSON pointer of the whole one; undefined if there is none. */
  #resolve(reference: string): unknown {
    if (!reference.startsWith("#")) return undefined;
    let found = this.#root;
    for (const step of reference.slice(1).split("/").slice(1)) {
      const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
      found = (found as Schema)[name];
    }
    return found;
  }

  #matching(schema: Schema, place: Place): unknown {
    const kinds = kindsOf(schema);
    const { enum: choices, nullable } = schema;
    if (Array.isArray(choices)) {
      const allowed = choices.filter(
        (choice) => kinds.length === 0 || kinds.some((kind) => isOf(kind, choice)),
      );
      return allowed.length === 0 ? NONE : allowed[place.nth % allowed.length];
    }
    if (kinds.length === 0) return schema.type === undefined ? null : NONE;
    const isNullable = nullable === true || kinds.includes("null");
    if (isNullable && this.#isShort(place.depth)) return null;
    for (const kind of kinds.filter((one) => one !== "null")) {
      const value = this.#ofKind(kind, schema, place);
      if (value !== NONE) return value;
    }
    return isNullable ? null : NONE;
  }

  #ofKind(kind: unknown, schema: Schema, place: Place): unknown {
    if (kind === "object") return this.#object(schema, place);
    if (kind === "array") return this.#array(schema, place);
    if (kind === "boolean") return place.nth % 2 === 0;
    if (kind === "number" || kind === "integer") return sampleNumber(schema, kind, place.nth) ?? NONE;
    if (kind !== "string") return NONE;
    const text = sampleText(schema, place.nth);
    return text !== undefined && this.#spend(text.length / CHARACTERS_PER_VISIT) ? text : NONE;
  }

  #object({ properties, required, additionalProperties, minProperties }: Schema, place: Place): unknown {
    const known = isSchema(properties) ? properties : {};
    const inner = { ...place, depth: place.depth + 1 };
    const needed = new Set(listOf(required).filter((name) => typeof name === "string"));
    const entries = new Map<string, unknown>();
    for (const [name, schema] of Object.entries(known)) {
      if (!needed.has(name) && this.#isShort(inner.depth)) continue;
      const value = this.value(schema, inner);
      if (value !== NONE) entries.set(name, value);
      else if (needed.has(name)) return NONE;
    }
    const others = [...needed].filter((name) => !Object.hasOwn(known, name));
    const least = typeof minProperties === "number" ? minProperties : 0;
    for (let n = 0; n < others.length || entries.size < least; n++) {
      const value = this.value(additionalProperties, inner);
      if (value === NONE) return NONE;
      entries.set(others[n] ?? `name_${n}`, value);
    }
    return Object.fromEntries(entries);
  }

  /** The listed items and, without any, one of the others, unless the schema requires more or allows fewer. */
  #array(schema: Schema, place: Place): unknown {
    const { items, prefixItems, additionalItems, minItems, maxItems, uniqueItems } = schema;
    const listed = listOf(prefixItems ?? items);
    const other = Array.isArray(items) ? additionalItems : items;
    const least = typeof minItems === "number" ? minItems : 0;
    const most = typeof maxItems === "number" ? maxItems : Number.POSITIVE_INFINITY;
    const wanted = listed.length || (isSchema(other) && !this.#isShort(place.depth + 1) ? 1 : 0);
    const found: unknown[] = [];
    for (let n = 0; n < Math.max(least, Math.min(wanted, most)); n++) {
      const inner = { ...place, depth: place.depth + 1, nth: uniqueItems === true ? n : place.nth };
      const value = this.value(n < listed.length ? listed[n] : other, inner);
      if (value === NONE) return n < least ? NONE : found;
      found.push(value);
    }
    return found;
  }

  #isShort(depth: number): boolean {
    return depth > FULL_DEPTH || this.#visits > FULL_VISITS;
  }

  #spend(visits: number): boolean {
    this.#visits += visits;
    return this.#visits <= MAX_VISITS;
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function nullFirst(first: unknown, second: unknown): number {
  return Number(isNull(second)) - Number(isNull(first));
}

function isNull(schema: unknown): boolean {
  return isSchema(schema) && schema.type === "null";
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
