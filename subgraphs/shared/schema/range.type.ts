import "./reflect.ts";
import { Field, InputType } from "type-graphql";
import { DateTimeScalar, NeuronScalar } from "./scalars.ts";

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

/** Maps a range of times; a bound that is not given is undefined. */
export function toTimes(range: TimeRangeInput | null | undefined): {
  readonly from: Date | undefined;
  readonly before: Date | undefined;
} {
  return {
    from: range?.from == null ? undefined : new Date(range.from),
    before: range?.before == null ? undefined : new Date(range.before),
  };
}
