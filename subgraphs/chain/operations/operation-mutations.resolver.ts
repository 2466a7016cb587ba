import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Mutation, Resolver } from "type-graphql";
import { permit } from "../../../src/keys/auth/permissions.ts";
import { Requires } from "../../shared/access.ts";
import type { Context } from "../../shared/context.ts";
import { readKeyOf } from "../../shared/nodes/node-id.ts";
import { answerMutation } from "../../shared/user-errors.ts";
import {
  CloseProviderCircuitsInput,
  CloseProviderCircuitsPayload,
  EnableFaultyWebhookInput,
  EnableFaultyWebhookPayload,
  PauseProviderInput,
  PauseProviderPayload,
  ReleaseExpiredHoldsPayload,
  VerifyLedgerPayload,
} from "./operation-mutations.type.ts";
import { toLedgerCheck } from "./operations.type.ts";

const WHO =
  "Requires a wallet session of an operator's account (`OPERATORS`). The action is logged with that account.";

/** What operators do to the service. */
@Resolver()
export class OperationMutationsResolver {
  @Requires("operations.manage")
  @Mutation(() => CloseProviderCircuitsPayload, {
    nullable: true,
    description: `Closes the circuits of a provider: within moments, every process may send requests to it again. ${WHO}`,
  })
  async closeProviderCircuits(
    @Arg("input", () => CloseProviderCircuitsInput, { description: "The provider." })
    input: CloseProviderCircuitsInput,
    @Ctx() context: Context,
  ): Promise<CloseProviderCircuitsPayload> {
    const operator = operatorOf(context);
    const { providerAddress } = input;
    return answerMutation(input, async () => {
      await context.services.operatorActions.closeCircuits(operator, providerAddress);
      return { providerAddress };
    });
  }

  @Requires("operations.manage")
  @Mutation(() => PauseProviderPayload, {
    nullable: true,
    description: `Pauses a provider: no process sends it requests for the given time. \`closeProviderCircuits\` ends the pause. ${WHO}`,
  })
  async pauseProvider(
    @Arg("input", () => PauseProviderInput, { description: "The provider, and how long." })
    input: PauseProviderInput,
    @Ctx() context: Context,
  ): Promise<PauseProviderPayload> {
    const operator = operatorOf(context);
    const { providerAddress, seconds } = input;
    return answerMutation(input, async () => {
      await context.services.operatorActions.pauseProvider(operator, providerAddress, seconds);
      return { providerAddress };
    });
  }

  @Requires("operations.manage")
  @Mutation(() => EnableFaultyWebhookPayload, {
    nullable: true,
    description: `Re-enables a webhook that was disabled because of its receiver. ${WHO}`,
  })
  async enableFaultyWebhook(
    @Arg("input", () => EnableFaultyWebhookInput, { description: "The webhook." })
    input: EnableFaultyWebhookInput,
    @Ctx() context: Context,
  ): Promise<EnableFaultyWebhookPayload> {
    const operator = operatorOf(context);
    return answerMutation(input, async () => {
      await context.services.operatorActions.enableWebhook(operator, readKeyOf("Webhook", input.id));
      return { enabled: true };
    });
  }

  @Requires("operations.manage")
  @Mutation(() => VerifyLedgerPayload, {
    nullable: true,
    description: `Checks what was added to the ledger since the last check, within 20 s. If a check ended in the last 10 s, returns its result instead. ${WHO}`,
  })
  async verifyLedger(@Ctx() context: Context): Promise<VerifyLedgerPayload> {
    const operator = operatorOf(context);
    return answerMutation({}, async () => ({
      check: toLedgerCheck(await context.services.operatorActions.verifyLedger(operator)),
    }));
  }

  @Requires("operations.manage")
  @Mutation(() => ReleaseExpiredHoldsPayload, {
    nullable: true,
    description: `Releases expired holds and the funds held by processes that have ended, as workers do every 5 s. ${WHO}`,
  })
  async releaseExpiredHolds(@Ctx() context: Context): Promise<ReleaseExpiredHoldsPayload> {
    const operator = operatorOf(context);
    return answerMutation({}, async () => ({
      releasedCount: await context.services.operatorActions.releaseHolds(operator),
    }));
  }
}

/** The account of an operator. Throws what `permit` throws, and `access_denied` for other accounts. */
function operatorOf({ principal, services }: Context): string {
  const { account } = permit(principal, "operations.manage");
  services.operators.require(account);
  return account;
}
