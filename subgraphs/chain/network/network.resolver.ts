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
import { RpcEndpointType } from "./rpc-endpoint.type.ts";
import { toWatcherStates, WatcherStateType } from "./watcher-state.type.ts";

type Block = Awaited<ReturnType<ChainService["head"]>>;

/** The networks, and the blocks of the one that we serve. */
@Resolver(() => NetworkType)
export class NetworkResolver {
  @Query(() => NetworkType, { description: "The network that this service runs on." })
  network(@Ctx() { services }: Context): Network {
    return services.chain.network();
  }

  @Query(() => [NetworkType], { description: "The network that this service runs on, then the public ones." })
  networks(@Ctx() { services }: Context): readonly Network[] {
    return services.chain.networks();
  }

  @Query(() => BlockType, {
    nullable: true,
    description:
      "A block of the chain, the newest one without a number. Null if there is none of that height.",
  })
  block(
    @Arg("number", () => BigIntScalar, { nullable: true, description: "The block's height." }) number:
      | bigint
      | null,
    @Ctx() { services }: Context,
  ): Promise<Block | undefined> {
    return number == null ? services.chain.head() : services.chain.block(BigInt(number));
  }

  @Query(() => ContractType, { description: "A contract of the network that this service runs on." })
  contract(
    @Arg("name", () => ContractName, { description: "Which contract." }) name: Name,
    @Ctx() { services }: Context,
  ): ContractType {
    return toContract(services.chain.network(), name);
  }

  @FieldResolver(() => [ContractType], { description: "Its contracts, the precompiles among them." })
  contracts(@Root() network: Network): readonly ContractType[] {
    return CONTRACT_NAMES.map((name) => toContract(network, name));
  }

  @FieldResolver(() => JsonScalar, {
    description:
      "What to give a wallet so that it adds the network: the parameter of `wallet_addEthereumChain`.",
  })
  walletParameters(@Root() network: Network): WalletParameters {
    return walletParameters(network);
  }

  @FieldResolver(() => Boolean, { description: "Whether this service runs on it." })
  served(@Root() { id }: Network, @Ctx() { services }: Context): boolean {
    return id === services.chain.network().id;
  }

  @FieldResolver(() => BlockType, {
    nullable: true,
    description:
      "Its newest block, at most a second old. Null for a network that this service does not run on.",
  })
  async head(@Root() { id }: Network, @Ctx() { services }: Context): Promise<Block | null> {
    return id === services.chain.network().id ? services.chain.head() : null;
  }

  @FieldResolver(() => [RpcEndpointType], {
    description:
      "How the RPC endpoints fare by which this process reads it, in their order. Empty for a network that this service does not run on.",
  })
  endpoints(@Root() { id }: Network, @Ctx() { services }: Context): readonly RpcEndpointType[] {
    return id === services.chain.network().id ? services.chain.endpoints() : [];
  }

  @FieldResolver(() => [WatcherStateType], {
    description: "How far we have read it. Empty for a network that this service does not run on.",
  })
  async watchers(
    @Root() { id }: Network,
    @Ctx() { services }: Context,
  ): Promise<readonly WatcherStateType[]> {
    return id === services.chain.network().id ? toWatcherStates(await services.chain.watchers()) : [];
  }
}
