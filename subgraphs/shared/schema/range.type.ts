import "./reflect.ts";
import { Field, InputType } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import { DateTimeScalar, NeuronScalar } from "./scalars.ts";

/** An integer as scalars give it. */
type Integer = bigint | string | null | undefined;

/** A range of amounts. */
@InputType("AmountRangeInput", { description: "A range of amounts, both bounds inclusive." })
export class AmountRangeInput {
  @Field(() => NeuronScalar, { nullable: true, description: "The smallest amount." })
  min!: bigint | null | undefined;

  @Field(() => NeuronScalar, { nullable: true, description: "The largest amount." })
  max!: bigint | null | undefined;
}

/** A range of times. Timestamps arrive as text. */
@InputType("TimeRangeInput", { description: "A range of times." })
export class TimeRangeInput {
  @Field(() => DateTimeScalar, { nullable: true, description: "The start, inclusive." })
  from!: string | null | undefined;

  @Field(() => DateTimeScalar, { nullable: true, description: "The end, exclusive." })
  before!: string | null | undefined;
}

/** Maps a range of times; a bound that is not given is undefined. Throws `invalid_parameter` if it ends before it starts. */
export function toTimes(
  range: TimeRangeInput | null | undefined,
  param?: string,
): {
  readonly from: Date | undefined;
  readonly before: Date | undefined;
} {
  const from = range?.from == null ? undefined : new Date(range.from);
  const before = range?.before == null ? undefined : new Date(range.before);
  if (from && before && before < from)
    throw new AppError("invalid_parameter", "`before` is earlier than `from`.", {
      param: param === undefined ? "before" : `${param}.before`,
    });
  return { from, before };
}

/** Maps a range of integers; a bound that is not given is undefined. Throws `invalid_parameter` if `max` is below `min`. */
export function toBounds(
  range: { readonly min: Integer; readonly max: Integer } | null | undefined,
  param: string,
): { readonly min: bigint | undefined; readonly max: bigint | undefined } {
  const min = range?.min == null ? undefined : BigInt(range.min);
  const max = range?.max == null ? undefined : BigInt(range.max);
  if (min !== undefined && max !== undefined && max < min)
    throw new AppError("invalid_parameter", "`max` is less than `min`.", { param: `${param}.max` });
  return { min, max };
}
