import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, toConnection, toPageRequest } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";
import { AccountStub } from "../account.stub.ts";
import { FileStub } from "../file.stub.ts";
import { type AgentToken, AgentTokenType } from "./agent-token.type.ts";
import { DataKeyType, type SealedKey, SealedKeyConnection, SealedKeyType } from "./sealed-key.type.ts";

/** Keys that were sealed for receivers of agent tokens. The chain tells everyone. */
@Resolver(() => SealedKeyType)
export class SealedKeyResolver {
  @Query(() => SealedKeyConnection, {
    nullable: true,
    description:
      "A receiver's inbox of sealed keys, newest first, over every contract that is read here. What the chain took back is not in it.",
  })
  async sealedKeys(
    @Arg("to", () => AddressScalar, { description: "The receiver." }) to: Hex,
    @Arg("contract", () => AddressScalar, { nullable: true, description: "Only those of this contract." })
    contract: Hex | null,
    @Arg("tokenId", () => BigIntScalar, { nullable: true, description: "Only those of this token id." })
    tokenId: string | null,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<SealedKey>> {
    const filter = {
      to,
      contract: contract ?? undefined,
      tokenId: tokenId == null ? undefined : BigInt(tokenId),
    };
    const page = await services.sealedKeys.list(filter, toPageRequest(args));
    return toConnection(page, args, ({ cursor }) => cursor);
  }

  @FieldResolver(() => AgentTokenType, {
    nullable: true,
    description: "The token whose data they open, as it is now.",
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
    description: "Whose the token, or the original of a clone, was; null for a mint.",
  })
  from(@Root() { from }: SealedKey): AccountStub | null {
    return from && { address: from };
  }

  @FieldResolver(() => [DataKeyType], { description: "The sealed keys, each with what it opens." })
  keys(@Root() { keys }: SealedKey): readonly DataKeyType[] {
    return keys.map((key, index) => ({ index, ...key }));
  }

  @FieldResolver(() => Int, { description: "How many blocks that were read follow its own, as of now." })
  async confirmations(
    @Root() { contract, blockNumber }: SealedKey,
    @Ctx() { loaders }: Context,
  ): Promise<number> {
    const scanned = await loaders.agentScans.load(contract);
    return scanned !== undefined && scanned > blockNumber ? Number(scanned - blockNumber) : 0;
  }
}

/** What a key leads to. */
@Resolver(() => DataKeyType)
export class DataKeyResolver {
  @FieldResolver(() => FileStub, {
    nullable: true,
    description: "The file with the data's hash as its root, null where the storage network has none.",
  })
  async file(
    @Root() { dataHash }: { dataHash: Hex | null },
    @Ctx() { loaders }: Context,
  ): Promise<FileStub | null> {
    return dataHash !== null && (await loaders.files.load(dataHash)) ? { root: dataHash } : null;
  }
}
