import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { SealedKey } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  toPageRequest,
  toPlacedConnection,
} from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { SealedKeyType } from "./sealed-key.type.ts";
import { type TokenEvent, TokenHistoryEntryConnection, TokenHistoryEntryType } from "./token-history.type.ts";

/** The history of agent tokens. Public on-chain data. */
@Resolver(() => TokenHistoryEntryType)
export class TokenHistoryResolver {
  @Query(() => TokenHistoryEntryConnection, {
    nullable: true,
    description:
      "The history of an agent token, most recently indexed event first: mints, transfers, clones, authorizations, sealed " +
      "keys and changes of its data. Events that a reorg reverted in the last 25 hours are included, even if the token no longer exists because of the reorg. Empty for an unknown token.",
  })
  async agentTokenHistory(
    @Arg("contract", () => AddressScalar, { description: "The token's contract." }) contract: Hex,
    @Arg("tokenId", () => BigIntScalar, { description: "The token's id within its contract." })
    tokenId: string,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<TokenEvent>> {
    const token = { contract, tokenId: BigInt(tokenId) };
    return toPlacedConnection(await services.agentTokens.events(token, toPageRequest(args)));
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description:
      "The previous owner, the owner of a clone's original, or the account that authorized the user. Null for other events.",
  })
  from(@Root() { from }: TokenEvent): AccountStub | null {
    return from && { address: from };
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description:
      "The new owner, the receiver of the clone or of the keys, or the user whose authorization began or ended. Null for other events.",
  })
  to(@Root() { to }: TokenEvent): AccountStub | null {
    return to && { address: to };
  }

  @FieldResolver(() => SealedKeyType, {
    nullable: true,
    description: "The keys that were sealed. Null except for `KEY_SEALED`.",
  })
  async sealedKey(
    @Root() { kind, blockHash, logIndex }: TokenEvent,
    @Ctx() { loaders }: Context,
  ): Promise<SealedKey | undefined> {
    return kind === "key_sealed" ? loaders.sealedKeys.load(`${blockHash}-${logIndex}`) : undefined;
  }
}
