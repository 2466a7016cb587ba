import "../../shared/schema/reflect.ts";
import { Arg, Ctx, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { ChainService } from "../../../src/chain/chain.service.ts";
import { CONTRACT_NAMES, type ContractName as Name, type Network } from "../../../src/chain/networks.ts";
import { type WalletParameters, walletParameters } from "../../../src/chain/wallet-parameters.ts";
import type { Context } from "../../shared/context.ts";
import { BigIntScalar, JsonScalar } from "../../shared/schema/scalars.ts";
import { BlockType } from "./block.type.ts";
import { ContractName, ContractType, toContract } from "./contract.type.ts";
import { NetworkType } from "./network.type.ts";
import { RpcEndpointType, toRpcEndpoint } from "./rpc-endpoint.type.ts";
import { toWatcherStates, WatcherStateType } from "./watcher-state.type.ts";

type Block = Awaited<ReturnType<ChainService["head"]>>;

/** The networks, and the blocks of the network that we serve. */
@Resolver(() => NetworkType)
export class NetworkResolver {
  @Query(() => NetworkType, { nullable: true, description: "The network that this service runs on." })
  network(@Ctx() { services }: Context): Network {
    return services.chain.network();
  }

  @Query(() => [NetworkType], {
    nullable: true,
    description: "The network that this service runs on, then the public ones.",
  })
  networks(@Ctx() { services }: Context): readonly Network[] {
    return services.chain.networks();
  }

  @Query(() => BlockType, {
    nullable: true,
    description: "A block of the chain. Default: the newest one. Null if there is no block of that height.",
  })
  block(
    @Arg("number", () => BigIntScalar, { nullable: true, description: "The block's height." }) number:
      | bigint
      | null,
    @Ctx() { services }: Context,
  ): Promise<Block | undefined> {
    return number == null ? services.chain.head() : services.chain.block(BigInt(number));
  }

  @Query(() => ContractType, {
    nullable: true,
    description: "A contract of the network that this service runs on.",
  })
  contract(
    @Arg("name", () => ContractName, { description: "The name of the contract." }) name: Name,
    @Ctx() { services }: Context,
  ): ContractType {
    return toContract(services.chain.network(), name);
  }

  @FieldResolver(() => [ContractType], { description: "The network's contracts, including precompiles." })
  contracts(@Root() network: Network): readonly ContractType[] {
    return CONTRACT_NAMES.map((name) => toContract(network, name));
  }

  @FieldResolver(() => JsonScalar, {
    description: "The parameter of `wallet_addEthereumChain`, which adds the network to a wallet.",
  })
  walletParameters(@Root() network: Network): WalletParameters {
    return walletParameters(network);
  }

  @FieldResolver(() => Boolean, { description: "Whether this service runs on the network." })
  served(@Root() { id }: Network, @Ctx() { services }: Context): boolean {
    return id === services.chain.network().id;
  }

  @FieldResolver(() => BlockType, {
    nullable: true,
    description:
      "The network's newest block, at most a second old. Null for a network that this service does not run on.",
  })
  async head(@Root() { id }: Network, @Ctx() { services }: Context): Promise<Block | null> {
    return id === services.chain.network().id ? services.chain.head() : null;
  }

  @FieldResolver(() => [RpcEndpointType], {
    description:
      "The RPC endpoints that this process reads the network from, in order of preference. Empty for a network " +
      "that this service does not run on.",
  })
  endpoints(@Root() { id }: Network, @Ctx() { services }: Context): readonly RpcEndpointType[] {
    return id === services.chain.network().id ? services.chain.endpoints().map(toRpcEndpoint) : [];
  }

  @FieldResolver(() => [WatcherStateType], {
    description: "How far this service has scanned the network. Empty for a network that it does not run on.",
  })
  async watchers(
    @Root() { id }: Network,
    @Ctx() { services }: Context,
  ): Promise<readonly WatcherStateType[]> {
    return id === services.chain.network().id ? toWatcherStates(await services.chain.watchers()) : [];
  }
}
