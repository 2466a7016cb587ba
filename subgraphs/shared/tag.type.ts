import "./schema/reflect.ts";
import { Directive, Field, InputType, ObjectType } from "type-graphql";
import { MAX_TAG_NAME_BYTES, MAX_TAG_VALUE_BYTES, type Tag } from "../../src/accounts/tags/tags.ts";

/** A tag of a request. */
@Directive("@shareable")
@ObjectType("Tag", {
  description: "A tag of a request. The request's cost is counted under it.",
  simpleResolvers: true,
})
export class TagType implements Tag {
  @Field(() => String, { description: "The name." })
  name!: string;

  @Field(() => String, { description: "The value." })
  value!: string;
}

/** A tag in an input. */
@InputType("TagInput", { description: "A tag of a request. The request's cost is counted under it." })
export class TagInput implements Tag {
  @Field(() => String, {
    description: `The name, 1 to ${MAX_TAG_NAME_BYTES} bytes without control characters.`,
  })
  name!: string;

  @Field(() => String, {
    description: `The value, 1 to ${MAX_TAG_VALUE_BYTES} bytes without control characters.`,
  })
  value!: string;
}

/** The description of every argument `tags` of a request. */
export const TAGS = "Up to 10 tags of the request, each with a different name, for usage and budgets by tag.";
