import {
  buildSchema,
  GraphQLError,
  type GraphQLScalarType,
  getVariableValues,
  Kind,
  parse,
  validate,
} from "graphql";
import { describe, expect, test } from "vitest";
import {
  AddressScalar,
  BigIntScalar,
  CursorScalar,
  checkScalars,
  DateTimeScalar,
  Hash32Scalar,
  HexScalar,
  NeuronScalar,
} from "../../../subgraphs/shared/schema/scalars.ts";

const lower = "0x22e03a6a89b950f1c82ec5e74f8eca321a105296";
const checksummed = "0x22E03a6A89B950F1c82ec5e74F8eCa321a105296";

function codeOf(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error instanceof GraphQLError ? error.extensions.code : error;
  }
  return "accepted";
}

describe("values from clients", () => {
  test.each<[GraphQLScalarType, unknown, unknown]>([
    [AddressScalar, checksummed, lower],
    [AddressScalar, lower.replace("22e0", "22E0"), lower],
    [HexScalar, "0xAB", "0xab"],
    [HexScalar, "0x", "0x"],
    [Hash32Scalar, `0x${"A".repeat(64)}`, `0x${"a".repeat(64)}`],
    [NeuronScalar, "340282366920938463463374607431768211456", "340282366920938463463374607431768211456"],
    [BigIntScalar, "18446744073709551616", "18446744073709551616"],
    [BigIntScalar, 12, "12"],
    [DateTimeScalar, "2026-01-31T12:00:00+01:00", "2026-01-31T11:00:00.000Z"],
    [DateTimeScalar, "2026-01-31t12:00:00z", "2026-01-31T12:00:00.000Z"],
    [CursorScalar, "WyJldmVudCIsIjEiXQ", "WyJldmVudCIsIjEiXQ"],
  ])("%s reads %j as text", (scalar, sent, read) => {
    expect(scalar.parseValue(sent)).toEqual(read);
  });

  test.each<[GraphQLScalarType, unknown]>([
    [AddressScalar, lower.slice(0, -1)],
    [AddressScalar, `${lower}0`],
    [AddressScalar, 12],
    [AddressScalar, null],
    [HexScalar, "0xabc"],
    [HexScalar, "ab"],
    [Hash32Scalar, lower],
    [NeuronScalar, "1.5"],
    [NeuronScalar, "-1"],
    [NeuronScalar, 1],
    [NeuronScalar, (2n ** 256n).toString()],
    [BigIntScalar, "-1"],
    [BigIntScalar, "01"],
    [BigIntScalar, 2 ** 53],
    [BigIntScalar, (2n ** 256n).toString()],
    [DateTimeScalar, "2026-01-31"],
    [DateTimeScalar, "2026-02-31T00:00:00Z"],
    [DateTimeScalar, "2026-01-31T24:00:00Z"],
    [DateTimeScalar, "2026-01-31T25:00:00Z"],
  ])("%s refuses %j", (scalar, sent) => {
    expect(codeOf(() => scalar.parseValue(sent))).toBe("invalid_parameter");
  });

  test("a malformed cursor has the code of a foreign one", () => {
    expect(codeOf(() => CursorScalar.parseValue("a b"))).toBe("invalid_cursor");
  });

  test("a schema parsed from text refuses literals with our messages, and passes on the rest as it was sent", () => {
    const schema = buildSchema("scalar Address type Query { account(address: Address!): Int }");
    checkScalars(schema);
    const faults = (address: string) => validate(schema, parse(`{ account(address: ${address}) }`));
    expect(faults('"0x12"')).toMatchObject([
      {
        message: "An address is 0x and 40 hexadecimal digits.",
        extensions: { code: "invalid_parameter" },
        locations: [{ line: 1 }],
      },
    ]);
    expect(faults(`"${checksummed}"`)).toEqual([]);
    expect(schema.getType("Address")).toMatchObject({ name: "Address" });
  });

  test("a schema parsed from text rounds no default of a variable", () => {
    const schema = buildSchema("scalar BigInt scalar JSON type Query { a(id: BigInt, more: JSON): Int }");
    checkScalars(schema);
    const { definitions } = parse(
      "query ($id: BigInt = 9223372036854775809, $more: JSON = { a: [9223372036854775809] }) { a(id: $id, more: $more) }",
    );
    const [operation] = definitions;
    if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error("there is no operation");
    expect(getVariableValues(schema, operation.variableDefinitions ?? [], {})).toEqual({
      coerced: { id: "9223372036854775809", more: { a: ["9223372036854775809"] } },
    });
  });
});

describe("values to clients", () => {
  test("addresses have a checksum", () => {
    expect(AddressScalar.serialize(lower)).toBe(checksummed);
  });

  test("a hex spelling that the specification fixes is kept", () => {
    expect(HexScalar.serialize("0x40DA")).toBe("0x40DA");
  });

  test("an invalid value is a bug, and its text is not shown", () => {
    expect(() => NeuronScalar.serialize(1.5)).toThrow("Something went wrong on our side.");
    expect(codeOf(() => AddressScalar.serialize(undefined))).toBe("internal_error");
  });
});
