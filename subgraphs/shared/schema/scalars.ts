import {
  GraphQLError,
  GraphQLScalarType,
  type GraphQLSchema,
  isScalarType,
  Kind,
  type ValueNode,
} from "graphql";
import { getAddress } from "viem";
import { AppError, type ErrorCode } from "../../../src/kernel/errors.ts";
import { INVALID_CURSOR } from "../../../src/kernel/page.ts";
import { parseNeuron } from "../../../src/kernel/text/amount.ts";
import { type Hex, isAddress, isHash32, lowerHex } from "../../../src/kernel/text/hex.ts";
import { isStorableTime } from "../../../src/kernel/text/times.ts";
import { toGraphFailure } from "../failures.ts";
import { readExactly } from "./exact-literal.ts";

/** Accepted in any letter case and stored in lower case; written with the EIP-55 checksum. */
export const AddressScalar = defineScalar({
  name: "Address",
  description:
    "An account or contract address: `0x` and 40 hexadecimal digits, with the EIP-55 checksum on output.",
  read(text) {
    if (!isAddress(text)) throw refused("An address is 0x and 40 hexadecimal digits.");
    return lowerHex(text);
  },
  write: (value) => (typeof value === "string" && isAddress(value) ? getAddress(value) : undefined),
});

/** Bytes of any length. */
export const HexScalar = defineScalar({
  name: "Hex",
  description: "Bytes: `0x` and an even number of hexadecimal digits.",
  read(text) {
    if (!isHex(text)) throw refused("Bytes are 0x and an even number of hexadecimal digits.");
    return lowerHex(text);
  },
  write: (value) => (typeof value === "string" && isHex(value) ? value : undefined),
});

/** A hash, a merkle root or a stream's id. */
export const Hash32Scalar = defineScalar({
  name: "Hash32",
  description: "A 32-byte hash: `0x` and 64 hexadecimal digits.",
  read(text) {
    if (!isHash32(text)) throw refused("A hash is 0x and 64 hexadecimal digits.");
    return lowerHex(text);
  },
  write: (value) => (typeof value === "string" && isHash32(value) ? value : undefined),
});

/** Money. A JSON number would lose digits, so it is refused. */
export const NeuronScalar = defineScalar({
  name: "Neuron",
  description:
    "A whole amount of the smallest unit of the network's token, at least 0, as a decimal string such as `1500000000000`. 10^18 neuron are one 0G token.",
  read: (text) => parseNeuron(text).toString(),
  write: (value) => (typeof value === "bigint" ? value.toString() : undefined),
});

/** A height, a size or a position. */
export const BigIntScalar = defineScalar({
  name: "BigInt",
  description:
    "An integer from 0 to 2^256 - 1 as a decimal string. Safe integers may also be sent as a JSON number.",
  takesNumbers: true,
  read(text) {
    if (!/^(0|[1-9]\d{0,77})$/.test(text) || BigInt(text) >= 2n ** 256n)
      throw refused("A BigInt is an integer from 0 to 2^256 - 1, as a decimal string.");
    return text;
  },
  write: (value) => (typeof value === "bigint" ? value.toString() : undefined),
});

/** A timestamp in UTC. */
export const DateTimeScalar = defineScalar({
  name: "DateTime",
  description: "An ISO 8601 timestamp with a time zone, such as `2026-01-31T12:00:00.000Z`. UTC on output.",
  read(given) {
    // RFC 3339 allows both letters in lower case.
    const text = given.toUpperCase();
    const date = new Date(text);
    // A day that its month does not have, as of 2026-02-31, would be read as one of the next month, and 24:00 as 0:00 of
    // the next day.
    if (
      !/^\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text) ||
      !isDay(text.slice(0, 10)) ||
      !isStorableTime(date)
    )
      throw refused(
        "A DateTime is an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00Z, in the years 1 to 9999.",
      );
    return date.toISOString();
  },
  write: (value) => (value instanceof Date ? value.toISOString() : undefined),
});

/** A position in a list or an event stream; only the service that issued it reads it. */
export const CursorScalar = defineScalar({
  name: "Cursor",
  description: "A position in a list or an event stream. Opaque: send it back unchanged.",
  read(text) {
    // The longest contains a model's id of 500 characters.
    if (!/^[A-Za-z0-9_-]{1,4096}$/.test(text)) throw refused(INVALID_CURSOR, "invalid_cursor");
    return text;
  },
  write: (value) => (typeof value === "string" ? value : undefined),
});

/** A day of the calendar. */
export const DateScalar = defineScalar({
  name: "Date",
  description: "A day in UTC, such as `2026-01-31`.",
  read(text) {
    if (!isDay(text)) throw refused("A Date is a day of the calendar, such as 2026-01-31.");
    return text;
  },
  write: (value) => (typeof value === "string" && isDay(value) ? value : undefined),
});

/** A number with decimals, such as an amount of dollars. A JSON number would lose digits, so it is refused. */
export const DecimalScalar = defineScalar({
  name: "Decimal",
  description: "A decimal number of at least 0 as a string, such as `0.25`, without an exponent.",
  read(text) {
    if (!isDecimal(text)) throw refused("A Decimal is digits with at most one point, such as 0.25.");
    return text;
  },
  write: (value) => (typeof value === "string" && isDecimal(value) ? value : undefined),
});

/** Any JSON, for values that are passed on as a whole. */
export const JsonScalar = new GraphQLScalarType<unknown, unknown>({
  name: "JSON",
  specifiedByURL: specificationOf("JSON"),
  description: "Any JSON value.",
  parseValue: (value) => value,
  parseLiteral: readExactly,
});

/** All custom scalars of the public graph. */
const SCALARS: readonly GraphQLScalarType[] = [
  AddressScalar,
  HexScalar,
  Hash32Scalar,
  NeuronScalar,
  BigIntScalar,
  DateTimeScalar,
  CursorScalar,
  DateScalar,
  DecimalScalar,
  JsonScalar,
];

/**
 * Adds our scalars' validation to a schema that was parsed from SDL, which would otherwise accept any value. Valid
 * values stay as the client sent them, to be parsed where they are used.
 */
export function checkScalars(schema: GraphQLSchema): void {
  for (const scalar of SCALARS) {
    const type = schema.getType(scalar.name);
    if (!isScalarType(type)) continue;
    type.parseValue = (value) => {
      scalar.parseValue(value);
      return value;
    };
    type.parseLiteral = (node, variables) => {
      scalar.parseLiteral(node, variables);
      return readExactly(node, variables);
    };
  }
}

type ScalarDefinition<T extends string> = {
  readonly name: string;
  readonly description: string;
  /**
   * Normalises what a client sent into the one spelling that resolvers receive. It stays text, because graphql-jit
   * writes the literals of an operation into its code as JSON. Throws an `AppError` whose text is for the client.
   */
  readonly read: (text: string) => T;
  /** Serialises a value; undefined for an invalid value, which is a bug. */
  readonly write: (value: unknown) => string | undefined;
  readonly takesNumbers?: boolean;
};

/** A scalar that travels as a string. */
function defineScalar<T extends string>({
  name,
  description,
  read,
  write,
  takesNumbers = false,
}: ScalarDefinition<T>) {
  const parse = (value: unknown, node?: ValueNode): T => {
    const text = takesNumbers && Number.isSafeInteger(value) ? String(value) : value;
    try {
      if (typeof text !== "string") throw refused(`${name} is sent as a string.`);
      return read(text);
    } catch (reason) {
      const { message, extensions } = toGraphFailure(reason);
      throw new GraphQLError(message, { nodes: node ?? null, extensions });
    }
  };
  const textOf = (node: ValueNode): string | undefined =>
    node.kind === Kind.STRING || (takesNumbers && node.kind === Kind.INT) ? node.value : undefined;
  return new GraphQLScalarType<T, string>({
    name,
    description,
    specifiedByURL: specificationOf(name),
    parseValue: (value) => parse(value),
    parseLiteral: (node) => parse(textOf(node), node),
    serialize(value) {
      const text = write(value);
      if (text === undefined)
        throw toGraphFailure(new TypeError(`${name} cannot be written from ${typeof value}`));
      return text;
    },
  });
}

/** Where the format of a scalar is specified: a section of docs/scalars.md. The URL is a name, like those of our links. */
function specificationOf(name: string): string {
  return `https://zerograph.dev/specs/scalars#${name.toLowerCase()}`;
}

function isDay(text: string): boolean {
  const date = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  return date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isDecimal(text: string): boolean {
  return /^\d{1,60}(\.\d{1,60})?$/.test(text);
}

function isHex(text: string): text is Hex {
  return /^0x([0-9a-fA-F]{2})*$/.test(text);
}

function refused(message: string, code: ErrorCode = "invalid_parameter"): AppError {
  return new AppError(code, message);
}
