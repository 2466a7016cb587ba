import "../../shared/schema/reflect.ts";
import { Directive, Field, Int, ObjectType } from "type-graphql";
import type { Network, NetworkToken } from "../../../src/chain/networks.ts";
import { defineNodeResolvers, NodeType } from "../../shared/nodes/node.type.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { AddressScalar, BigIntScalar, DecimalScalar, HexScalar } from "../../shared/schema/scalars.ts";

const TokenKind = defineEnum<NetworkToken["kind"]>("TokenKind", "The form of a network's token.", {
  native: "The gas token, which has no contract.",
  wrapped: "A contract on the network that wraps the gas token.",
  bridged: "A contract on another chain.",
});

/** A form of the network's token. */
@ObjectType("NetworkToken", { description: "A form of a network's token.", simpleResolvers: true })
class NetworkTokenType implements NetworkToken {
  @Field(() => TokenKind, { description: "The form of the token." })
  kind!: NetworkToken["kind"];

  @Field(() => Int, { description: "The id of the token's chain." })
  chainId!: number;

  @Field(() => String, { description: "The token's symbol." })
  symbol!: string;

  @Field(() => Int, { description: "The token's decimals." })
  decimals!: number;

  @Field(() => AddressScalar, { nullable: true, description: "The contract. Null for the gas token." })
  address!: NetworkToken["address"];
}

/** A network's parameters (SPEC 2.1). The rest of its fields are resolved. */
@Directive('@key(fields: "id")')
@ObjectType("Network", {
  description: "A network: its endpoints, its contracts and, if this service runs on it, its state.",
  implements: NodeType,
  simpleResolvers: true,
})
export class NetworkType {
  @Field(() => Int, { description: "The network's chain id." })
  chainId!: number;

  @Field(() => HexScalar, { description: "The network's chain id in hexadecimal, as wallets expect it." })
  chainIdHex!: string;

  @Field(() => String, { description: "The network's display name." })
  name!: string;

  @Field(() => String, { description: "The symbol of the network's token." })
  symbol!: string;

  @Field(() => Int, { description: "The decimals of the network's token." })
  decimals!: number;

  @Field(() => [String], {
    description:
      "The network's public RPC endpoints. The official testnet endpoint is for development: use another one in " +
      "production.",
  })
  rpcUrls!: readonly string[];

  @Field(() => String, { nullable: true, description: "The URL of the block explorer. Null if none." })
  explorerUrl!: string | null;

  @Field(() => String, { nullable: true, description: "The URL of the storage explorer. Null if none." })
  storageExplorerUrl!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The URL of the storage indexer. Its root path is not a health check and may return 404. Null if there is " +
      "none.",
  })
  indexerUrl!: string | null;

  @Field(() => BigIntScalar, { description: "The first block to scan for storage." })
  storageStartBlock!: bigint;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The first block to scan for data availability. Null if not applicable.",
  })
  daStartBlock!: bigint | null;

  @Field(() => DecimalScalar, {
    nullable: true,
    description: "The number of tokens that the faucet pays per day. Null if there is no faucet.",
  })
  faucetPerDay!: string | null;

  @Field(() => [NetworkTokenType], { description: "Every published form of the network's token." })
  tokens!: readonly NetworkToken[];
}

/** The global id of a network, and its short name. */
export const NetworkNodeResolvers = defineNodeResolvers<Network>(() => NetworkType, {
  name: "Network",
  keyOf: ({ id }) => id,
  raw: { field: "networkId", description: "The network's short name: `testnet`, `mainnet` or `devnet`." },
});
