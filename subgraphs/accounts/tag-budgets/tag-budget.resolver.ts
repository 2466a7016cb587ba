import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Mutation, Resolver, Root } from "type-graphql";
import type { TagBudget } from "../../../src/accounts/budgets/tag-budgets.service.ts";
import type { Tag } from "../../../src/accounts/tags/tags.ts";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permit, permitOn } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { runOnce } from "../../shared/once.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { TagType } from "../../shared/tag.type.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { AccountType } from "../account/account.type.ts";
import {
  CreateTagBudgetInput,
  CreateTagBudgetPayload,
  DeleteTagBudgetInput,
  DeleteTagBudgetPayload,
  TagBudgetConnection,
  TagBudgetType,
  UpdateTagBudgetInput,
  UpdateTagBudgetPayload,
} from "./tag-budget.type.ts";

const SCOPE = "Requires the scope `keys:manage`.";

/** The budgets of an account's tags. */
@Resolver(() => AccountType)
export class AccountTagBudgetsResolver {
  @Requires("tag-budget.read")
  @FieldResolver(() => TagBudgetConnection, {
    nullable: true,
    description: "The budgets of the account's tags, oldest first. Requires the scope `account:read`.",
  })
  async tagBudgets(
    @Root() { address }: AccountType,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services, principal }: Context,
  ): Promise<Connection<TagBudget>> {
    permitOn(principal, "tag-budget.read", address);
    const budgets = await services.tagBudgets.list(address.toLowerCase());
    return pageOf("tag-budgets", budgets, args, ({ createdAt, id }) => `${createdAt.toISOString()} ${id}`);
  }
}

/** Creates, changes and deletes budgets. */
@Resolver(() => TagBudgetType)
export class TagBudgetResolver {
  @FieldResolver(() => TagType, { description: "The tag." })
  tag(@Root() { name, value }: TagBudget): Tag {
    return { name, value };
  }

  @Requires("tag-budget.manage")
  @Mutation(() => CreateTagBudgetPayload, {
    nullable: true,
    description:
      "Limits what requests with a tag may spend. Amounts already charged in the current period count. " +
      SCOPE,
  })
  async createTagBudget(
    @Arg("input", () => CreateTagBudgetInput, { description: "The budget to create." })
    { idempotencyKey, ...input }: CreateTagBudgetInput,
    @Ctx() context: Context,
  ): Promise<CreateTagBudgetPayload> {
    const { principal, services } = context;
    const { account } = permit(principal, "tag-budget.manage");
    const call = { account, requestId: newRequestId(), field: "createTagBudget", key: idempotencyKey, input };
    return answerMutation(input, async () => {
      const id = await runOnce(context, call, async () => {
        const { tag, creditLimit, resetPeriod } = input;
        const terms = { creditLimit: BigInt(creditLimit), resetPeriod: resetPeriod ?? "never" } as const;
        return Buffer.from((await services.tagBudgets.create(account, { ...tag, ...terms })).id);
      });
      return { tagBudget: await services.tagBudgets.get(account, id.toString()) };
    });
  }

  @Requires("tag-budget.manage")
  @Mutation(() => UpdateTagBudgetPayload, {
    nullable: true,
    description: `Updates the budget of a tag, effective from the tag's next request. ${SCOPE}`,
  })
  async updateTagBudget(
    @Arg("input", () => UpdateTagBudgetInput, { description: "The changes." }) input: UpdateTagBudgetInput,
    @Ctx() { services, principal }: Context,
  ): Promise<UpdateTagBudgetPayload> {
    const { account } = permit(principal, "tag-budget.manage");
    const { creditLimit, resetPeriod } = input;
    const changes = {
      ...(creditLimit != null && { creditLimit: BigInt(creditLimit) }),
      ...(resetPeriod != null && { resetPeriod }),
    };
    return answerMutation(input, async () => ({
      tagBudget: await services.tagBudgets.update(account, readKeyOf("TagBudget", input.id), changes),
    }));
  }

  @Requires("tag-budget.manage")
  @Mutation(() => DeleteTagBudgetPayload, {
    nullable: true,
    description: `Deletes the budget of a tag. Its spending is no longer limited. ${SCOPE}`,
  })
  async deleteTagBudget(
    @Arg("input", () => DeleteTagBudgetInput, { description: "The budget to delete." })
    input: DeleteTagBudgetInput,
    @Ctx() { services, principal }: Context,
  ): Promise<DeleteTagBudgetPayload> {
    const { account } = permit(principal, "tag-budget.manage");
    return answerMutation(input, async () => {
      await services.tagBudgets.delete(account, readKeyOf("TagBudget", input.id));
      return { deleted: true };
    });
  }
}
