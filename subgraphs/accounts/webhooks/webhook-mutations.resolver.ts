import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import { newRequestId } from "../../../src/kernel/text/ids.ts";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { runSecretOnce } from "../../shared/once.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import { toResult } from "./webhook.type.ts";
import {
  CreateWebhookInput,
  CreateWebhookPayload,
  DeleteWebhookInput,
  DeleteWebhookPayload,
  ReplayWebhookInput,
  ReplayWebhookPayload,
  RotateWebhookSecretInput,
  RotateWebhookSecretPayload,
  TestWebhookInput,
  TestWebhookPayload,
  UpdateWebhookInput,
  UpdateWebhookPayload,
} from "./webhook-mutations.type.ts";

const SCOPE = "Requires the scope `keys:manage`";

/** Creates, changes, tests and replays webhooks. */
@Resolver()
export class WebhookMutationsResolver {
  @Requires("webhook.manage")
  @Mutation(() => CreateWebhookPayload, {
    nullable: true,
    description: `Creates a webhook, which receives events from now on. ${SCOPE}, and permission to read each event.`,
  })
  async createWebhook(
    @Arg("input", () => CreateWebhookInput, { description: "The webhook to create." })
    { idempotencyKey, ...input }: CreateWebhookInput,
    @Ctx() context: Context,
  ): Promise<CreateWebhookPayload> {
    const { principal, services } = context;
    const { account } = permit(principal, "webhook.manage");
    const call = { account, requestId: newRequestId(), field: "createWebhook", key: idempotencyKey, input };
    const balanceThreshold = input.balanceThreshold == null ? null : BigInt(input.balanceThreshold);
    return answerMutation(input, () =>
      runSecretOnce(context, call, () => services.webhooks.create(principal, { ...input, balanceThreshold })),
    );
  }

  @Requires("webhook.manage")
  @Mutation(() => UpdateWebhookPayload, {
    nullable: true,
    description: `Updates, enables or disables a webhook. ${SCOPE}, and permission to read each event.`,
  })
  async updateWebhook(
    @Arg("input", () => UpdateWebhookInput, { description: "The changes." }) input: UpdateWebhookInput,
    @Ctx() { services, principal }: Context,
  ): Promise<UpdateWebhookPayload> {
    permit(principal, "webhook.manage");
    const { name, url, events, balanceThreshold, enabled } = input;
    const change = {
      name: name ?? undefined,
      url: url ?? undefined,
      events: events ?? undefined,
      ...(balanceThreshold !== undefined && {
        balanceThreshold: balanceThreshold === null ? null : BigInt(balanceThreshold),
      }),
      isEnabled: enabled ?? undefined,
    };
    const id = readKeyOf("Webhook", input.id);
    return answerMutation(input, async () => ({
      webhook: await services.webhooks.update(principal, id, change),
    }));
  }

  @Requires("webhook.manage")
  @Mutation(() => DeleteWebhookPayload, {
    nullable: true,
    description: `Deletes a webhook. A delivery in progress may still arrive. ${SCOPE}.`,
  })
  async deleteWebhook(
    @Arg("input", () => DeleteWebhookInput, { description: "The webhook to delete." })
    input: DeleteWebhookInput,
    @Ctx() { services, principal }: Context,
  ): Promise<DeleteWebhookPayload> {
    permit(principal, "webhook.manage");
    return answerMutation(input, async () => {
      await services.webhooks.delete(principal, readKeyOf("Webhook", input.id));
      return { deleted: true };
    });
  }

  @Requires("webhook.manage")
  @Mutation(() => TestWebhookPayload, {
    nullable: true,
    description: `Delivers a \`webhook.test\` event now, also to a disabled webhook. ${SCOPE}.`,
  })
  async testWebhook(
    @Arg("input", () => TestWebhookInput, { description: "The webhook to test." }) input: TestWebhookInput,
    @Ctx() { services, principal, signal }: Context,
  ): Promise<TestWebhookPayload> {
    permit(principal, "webhook.manage");
    return answerMutation(input, async () => ({
      result: toResult(await services.webhooks.test(principal, readKeyOf("Webhook", input.id), signal)),
    }));
  }

  @Requires("webhook.manage")
  @Mutation(() => RotateWebhookSecretPayload, {
    nullable: true,
    description: `Replaces the signing secret. For 24 h deliveries are signed with both. ${SCOPE}.`,
  })
  async rotateWebhookSecret(
    @Arg("input", () => RotateWebhookSecretInput, { description: "The webhook." })
    { idempotencyKey, ...input }: RotateWebhookSecretInput,
    @Ctx() context: Context,
  ): Promise<RotateWebhookSecretPayload> {
    const { principal, services } = context;
    const { account } = permit(principal, "webhook.manage");
    const id = readKeyOf("Webhook", input.id);
    const call = {
      ...{ account, requestId: newRequestId(), field: "rotateWebhookSecret" },
      ...{ key: idempotencyKey, input },
    };
    return answerMutation(input, () =>
      runSecretOnce(context, call, () => services.webhooks.rotateSecret(principal, id)),
    );
  }

  @Requires("webhook.manage")
  @Mutation(() => ReplayWebhookPayload, {
    nullable: true,
    description: `Delivers the events after a cursor again, up to 24 h back, with the same ids. ${SCOPE}.`,
  })
  async replayWebhook(
    @Arg("input", () => ReplayWebhookInput, { description: "Where to begin." })
    input: ReplayWebhookInput,
    @Ctx() { services, principal }: Context,
  ): Promise<ReplayWebhookPayload> {
    permit(principal, "webhook.manage");
    return answerMutation(input, async () => ({
      webhook: await services.webhooks.replay(principal, readKeyOf("Webhook", input.id), input.after),
    }));
  }
}
