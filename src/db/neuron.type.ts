import { Type } from "@mikro-orm/core";

/** Maps an amount of neuron, a `bigint` in the domain, to NUMERIC(78,0), exactly. */
export class NeuronType extends Type<bigint, string> {
  override convertToDatabaseValue(value: bigint): string {
    return value == null ? value : value.toString();
  }

  override convertToJSValue(value: string): bigint {
    return value == null ? value : BigInt(value);
  }

  override getColumnType(): string {
    return "numeric(78,0)";
  }

  override get runtimeType(): string {
    return "bigint";
  }

  override compareAsType(): string {
    return "bigint";
  }
}
