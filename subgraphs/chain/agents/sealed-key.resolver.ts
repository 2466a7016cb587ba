import "../../shared/schema/reflect.ts";
import { Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { SealedKey } from "../../../src/chain/agents/sealed-keys/sealed-key.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, toPageRequest, toPlacedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { FileStub } from "../file.stub.ts";
import { type AgentToken, AgentTokenType } from "./agent-token.type.ts";
import { DataKeyType, SealedKeyConnection, SealedKeyType } from "./sealed-key.type.ts";
import { SealedKeysArgs } from "./sealed-key-filter.type.ts";

/** Keys sealed for receivers of agent tokens. Public on-chain data. */
@Resolver(() => SealedKeyType)
export class SealedKeyResolver {
  @Query(() => SealedKeyConnection, {
    nullable: true,
    description:
      "A receiver's inbox of sealed keys, newest first, across all contracts that this service indexes. " +
      "Reorged-out events are not included.",
  })
  async sealedKeys(
    @Args(() => SealedKeysArgs) { to, filter: given, ...args }: SealedKeysArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const filter = {
      to,
      contract: given?.contract ?? undefined,
      tokenId: given?.tokenId == null ? undefined : BigInt(given.tokenId),
    };
    const page = await services.sealedKeys.list(filter, toPageRequest(args));
    return toPlacedConnection(page, () => services.sealedKeys.count(filter));
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The current state of the token whose data the keys decrypt. Null if a reorg removed it.",
  })
  token(
    @Root() { contract, tokenId }: SealedKey,
    @Ctx() { loaders }: Context,
  ): Promise<AgentToken | undefined> {
    return loaders.agentTokens.load({ contract, tokenId });
  }

  @FieldResolver(() => AddressScalar, { description: "The token's contract." })
  contract(@Root() { contract }: SealedKey): Hex {
    return contract;
  }

  @FieldResolver(() => BigIntScalar, { description: "The token's id." })
  tokenId(@Root() { tokenId }: SealedKey): bigint {
    return tokenId;
  }

  @FieldResolver(() => AccountStub, { description: "The account that the keys were sealed for." })
  to(@Root() { to }: SealedKey): AccountStub {
    return { address: to };
  }

  @FieldResolver(() => AccountStub, {
    nullable: true,
    description:
      "The previous owner of a transferred token, or the owner of the token that was cloned. Null for a mint.",
  })
  from(@Root() { from }: SealedKey): AccountStub | null {
    return from && { address: from };
  }

  @FieldResolver(() => [DataKeyType], {
    description: "The sealed keys, each with the data that it decrypts.",
  })
  keys(@Root() { keys }: SealedKey): readonly DataKeyType[] {
    return keys.map((key, index) => ({ index, ...key }));
  }

  @FieldResolver(() => Int, { description: "The current number of indexed blocks after the event's block." })
  async confirmations(
    @Root() { contract, blockNumber }: SealedKey,
    @Ctx() { loaders }: Context,
  ): Promise<number> {
    const scanned = await loaders.agentScans.load(contract);
    return scanned !== undefined && scanned > blockNumber ? Number(scanned - blockNumber) : 0;
  }
}

/** The file of a key. */
@Resolver(() => DataKeyType)
export class DataKeyResolver {
  @FieldResolver(() => FileStub, {
    nullable: true,
    description: "The stored file whose root is the data's hash. Null if the storage network has none.",
  })
  async file(
    @Root() { dataHash }: { dataHash: Hex | null },
    @Ctx() { loaders }: Context,
  ): Promise<FileStub | null> {
    return dataHash !== null && (await loaders.files.load(dataHash)) ? { root: dataHash } : null;
  }
}
