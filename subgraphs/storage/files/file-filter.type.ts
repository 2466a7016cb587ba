import "../../shared/schema/reflect.ts";
import { ArgsType, Field, InputType } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { FileFilter } from "../../../src/storage/submissions/submissions.service.ts";
import { PageArgs } from "../../shared/schema/connection.ts";
import { TimeRangeInput, toBounds, toTimes } from "../../shared/schema/range.type.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";

/** A range of sizes. Integers arrive as text. */
@InputType("SizeRangeInput", { description: "A range of sizes in bytes, both bounds inclusive." })
class SizeRangeInput {
  @Field(() => BigIntScalar, { nullable: true, description: "The smallest size." })
  min!: string | null | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "The largest size." })
  max!: string | null | undefined;
}

/** The filter of a list of files. */
@InputType("FileFilterInput", {
  description:
    "Lists only files that meet every given condition. All conditions apply to a file's first submission.",
})
class FileFilterInput {
  @Field(() => AddressScalar, {
    nullable: true,
    description: "Files whose first submission was sent by this account.",
  })
  owner!: Hex | null | undefined;

  @Field(() => SizeRangeInput, { nullable: true, description: "Files with a size in this range." })
  sizeBytes!: SizeRangeInput | null | undefined;

  @Field(() => TimeRangeInput, {
    nullable: true,
    description: "Files that this service first saw in this range of times.",
  })
  seenAt!: TimeRangeInput | null | undefined;
}

/** The arguments of a list of files. */
@ArgsType()
export class FilesArgs extends PageArgs {
  @Field(() => FileFilterInput, { nullable: true, description: "Which files to list. Default: all." })
  filter!: FileFilterInput | null | undefined;
}

/** Maps the filter of a client. Throws `invalid_parameter` for a reversed range. */
export function toFileFilter(filter: FileFilterInput | null | undefined): FileFilter {
  if (!filter) return {};
  const { owner, sizeBytes, seenAt } = filter;
  const sizes = toBounds(sizeBytes, "filter.sizeBytes");
  return {
    owner: owner ?? undefined,
    minSize: sizes.min,
    maxSize: sizes.max,
    ...toTimes(seenAt, "filter.seenAt"),
  };
}
