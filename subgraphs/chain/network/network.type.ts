import "../../shared/schema/reflect.ts";
import { Field, ID, Int, ObjectType } from "type-graphql";
import type { NetworkToken } from "../../../src/chain/networks.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, HexScalar } from "../../shared/schema/scalars.ts";

const TokenKind = defineEnum<NetworkToken["kind"]>("TokenKind", "The forms of a network's token.", {
  native: "The gas token itself. It has no contract.",
  wrapped: "A contract on the network that wraps it.",
  bridged: "A contract on another chain.",
});

/** A form of the network's token. */
@ObjectType("NetworkToken", { description: "A form of a network's token.", simpleResolvers: true })
class NetworkTokenType implements NetworkToken {
  @Field(() => TokenKind, { description: "Which form it is." })
  kind!: NetworkToken["kind"];

  @Field(() => Int, { description: "The chain on which it is." })
  chainId!: number;

  @Field(() => String, { description: "Its symbol." })
  symbol!: string;

  @Field(() => Int, { description: "Its decimals." })
  decimals!: number;

  @Field(() => AddressScalar, { nullable: true, description: "Its contract, null for the gas token." })
  address!: NetworkToken["address"];
}

/** A network's parameters (SPEC 2.1). The rest of its fields are resolved. */
@ObjectType("Network", {
  description: "A network: how to reach it, where its contracts are, and for our own how it fares.",
  simpleResolvers: true,
})
export class NetworkType {
  @Field(() => ID, { description: "Its short name: `testnet`, `mainnet` or `devnet`." })
  id!: string;

  @Field(() => Int, { description: "Its chain id." })
  chainId!: number;

  @Field(() => HexScalar, { description: "Its chain id as wallets want it." })
  chainIdHex!: string;

  @Field(() => String, { description: "Its name for people." })
  name!: string;

  @Field(() => String, { description: "The symbol of its token." })
  symbol!: string;

  @Field(() => Int, { description: "The decimals of its token." })
  decimals!: number;

  @Field(() => [String], {
    description: "Its RPC endpoints. The testnet's own is for development: use another's in production.",
  })
  rpcUrls!: readonly string[];

  @Field(() => String, { nullable: true, description: "Its block explorer." })
  explorerUrl!: string | null;

  @Field(() => String, { nullable: true, description: "Its storage explorer." })
  storageExplorerUrl!: string | null;

  @Field(() => String, {
    nullable: true,
    description: "Its storage indexer. The root path is no health check and may answer 404.",
  })
  indexerUrl!: string | null;

  @Field(() => BigIntScalar, { description: "The block from which storage is read." })
  storageStartBlock!: bigint;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The block from which data availability is read, null where it does not apply.",
  })
  daStartBlock!: bigint | null;

  @Field(() => String, { nullable: true, description: "How many tokens the faucet gives a day." })
  faucetPerDay!: string | null;

  @Field(() => [NetworkTokenType], { description: "Its token, in every form that is published." })
  tokens!: readonly NetworkToken[];
}
