import "../../shared/schema/reflect.ts";
import { Field, ID, InputType, ObjectType } from "type-graphql";
import { MAX_TAG_BUDGETS, type TagBudget } from "../../../src/accounts/budgets/tag-budgets.service.ts";
import type { Tag } from "../../../src/accounts/tags/tags.ts";
import type { ResetPeriod } from "../../../src/keys/api-keys/reset-period.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { IDEMPOTENCY_KEY } from "../../shared/once.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { DateTimeScalar, NeuronScalar } from "../../shared/schema/scalars.ts";
import { TagInput, TagType } from "../../shared/tag.type.ts";
import { PayloadType } from "../../shared/user-errors.ts";
import { KeyResetPeriod } from "../api-keys/api-key.type.ts";

const LIMIT = "The most that the tag's requests may spend per period.";
const PERIOD = "How often the spending is reset.";

/** The budget of a tag, as its account sees it. */
@ObjectType("TagBudget", {
  description: "A limit of what requests with a tag may spend per period, whichever key pays for them.",
  implements: NodeType,
  simpleResolvers: true,
})
export class TagBudgetType {
  @Field(() => TagType, { simple: false, description: "The tag." })
  tag!: Tag;

  @Field(() => NeuronScalar, { description: LIMIT })
  creditLimit!: bigint;

  @Field(() => KeyResetPeriod, { description: PERIOD })
  resetPeriod!: ResetPeriod;

  @Field(() => NeuronScalar, {
    description:
      "The amount charged to the tag's requests in the current period. A charge counts in the period in which it is settled.",
  })
  used!: bigint;

  @Field(() => NeuronScalar, { description: "The amount held for the tag's requests in progress." })
  held!: bigint;

  @Field(() => DateTimeScalar, { description: "When the budget was created." })
  createdAt!: Date;
}

/** The global id of a budget, and its raw id. */
export const TagBudgetNodeResolvers = defineNodeResolvers<TagBudget>(() => TagBudgetType, {
  name: "TagBudget",
  keyOf: ({ id }) => id,
  raw: { field: "budgetId", description: "The budget's id in the REST API: `budget_id`." },
});

/** A list of budgets. */
export const TagBudgetConnection = defineCountedConnection("TagBudget", () => TagBudgetType);

/** A budget to create. */
@InputType("CreateTagBudgetInput", { description: "The budget of a tag to create." })
export class CreateTagBudgetInput {
  @Field(() => TagInput, {
    description: `The tag. A tag has at most one budget, and an account at most ${MAX_TAG_BUDGETS}.`,
  })
  tag!: TagInput;

  @Field(() => NeuronScalar, { description: LIMIT })
  creditLimit!: string;

  @Field(() => KeyResetPeriod, { nullable: true, description: `${PERIOD} Default: \`NEVER\`.` })
  resetPeriod?: ResetPeriod | null;

  @Field(() => String, { nullable: true, description: IDEMPOTENCY_KEY })
  idempotencyKey?: string | null;
}

/** A budget that was created. */
@ObjectType("CreateTagBudgetPayload", {
  description: "The result of `createTagBudget`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class CreateTagBudgetPayload extends PayloadType {
  @Field(() => TagBudgetType, { nullable: true, description: "The created budget." })
  tagBudget?: TagBudget | null;
}

/** Changes of a budget. */
@InputType("UpdateTagBudgetInput", {
  description: "Changes to the budget of a tag. A field that is null or omitted is left unchanged.",
})
export class UpdateTagBudgetInput {
  @Field(() => ID, { description: "The budget's id." })
  id!: string;

  @Field(() => NeuronScalar, { nullable: true, description: LIMIT })
  creditLimit?: string | null;

  @Field(() => KeyResetPeriod, {
    nullable: true,
    description: `${PERIOD} After a change, the spending in the new period counts.`,
  })
  resetPeriod?: ResetPeriod | null;
}

/** A budget that was changed. */
@ObjectType("UpdateTagBudgetPayload", {
  description: "The result of `updateTagBudget`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class UpdateTagBudgetPayload extends PayloadType {
  @Field(() => TagBudgetType, { nullable: true, description: "The budget with its changes." })
  tagBudget?: TagBudget | null;
}

/** A budget to delete. */
@InputType("DeleteTagBudgetInput", { description: "The budget of a tag to delete." })
export class DeleteTagBudgetInput {
  @Field(() => ID, { description: "The budget's id." })
  id!: string;
}

/** A budget that was deleted. */
@ObjectType("DeleteTagBudgetPayload", {
  description: "The result of `deleteTagBudget`. Its other fields are null if there are `userErrors`.",
  simpleResolvers: true,
})
export class DeleteTagBudgetPayload extends PayloadType {
  @Field(() => Boolean, { nullable: true, description: "Whether the budget was deleted." })
  deleted?: boolean | null;
}
