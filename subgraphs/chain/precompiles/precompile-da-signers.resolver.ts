import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { DaSigner } from "../../../src/chain/precompiles/da-signers.client.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { type Connection, PageArgs, pageOf } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";
import {
  DaQuorumRowConnection,
  type DaQuorumRowType,
  DaQuorumType,
  DaSignersType,
  DaSignerType,
} from "./precompile-da-signers.type.ts";

const EpochArg = () => Arg("epoch", () => BigIntScalar, { description: "Which epoch." });
const QuorumIdArg = () =>
  Arg("quorumId", () => BigIntScalar, { description: "Which quorum of the epoch, from 0 on." });
const AccountArg = () => Arg("account", () => AddressScalar, { description: "Whose account." });

/** The seven reads of the precompile DASigners (SPEC 4.4). */
@Resolver(() => DaSignersType)
export class DaSignersResolver {
  @Query(() => DaSignersType, {
    nullable: true,
    description:
      "The signers of data availability. Its fields fail with `contract_not_found` on a chain without the precompile.",
  })
  daSigners(@Ctx() { services }: Context): DaSignersType {
    return { address: services.daSigners.address() };
  }

  @FieldResolver(() => BigIntScalar, { nullable: true, description: "The present epoch." })
  epochNumber(@Ctx() { services }: Context): Promise<bigint> {
    return services.daSigners.epochNumber();
  }

  @FieldResolver(() => BigIntScalar, { nullable: true, description: "How many quorums an epoch has." })
  quorumCount(@EpochArg() epoch: string, @Ctx() { services }: Context): Promise<bigint> {
    return services.daSigners.quorumCount(BigInt(epoch));
  }

  @FieldResolver(() => Boolean, { nullable: true, description: "Whether an account is a signer." })
  isSigner(@AccountArg() account: Hex, @Ctx() { services }: Context): Promise<boolean> {
    return services.daSigners.isSigner(account);
  }

  @FieldResolver(() => [DaSignerType], {
    nullable: true,
    description: "These accounts as signers, in their order; 1 to 100 at once.",
  })
  signers(
    @Arg("accounts", () => [AddressScalar], { description: "Whose accounts." }) accounts: readonly Hex[],
    @Ctx() { services }: Context,
  ): Promise<readonly DaSigner[]> {
    return services.daSigners.signers(accounts);
  }

  @FieldResolver(() => DaQuorumType, { nullable: true, description: "A quorum with all its rows." })
  async quorum(
    @EpochArg() epoch: string,
    @QuorumIdArg() quorumId: string,
    @Ctx() { services }: Context,
  ): Promise<DaQuorumType> {
    const signers = await services.daSigners.quorum(BigInt(epoch), BigInt(quorumId));
    return { epoch: BigInt(epoch), quorumId: BigInt(quorumId), size: signers.length, signers };
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description: "Whose one row of a quorum is, without reading the others.",
  })
  quorumRow(
    @EpochArg() epoch: string,
    @QuorumIdArg() quorumId: string,
    @Arg("rowIndex", () => Int, { description: "Which row, from 0 on." }) rowIndex: number,
    @Ctx() { services }: Context,
  ): Promise<string> {
    return services.daSigners.quorumRow(BigInt(epoch), BigInt(quorumId), rowIndex);
  }

  @FieldResolver(() => Boolean, {
    nullable: true,
    description: "Whether an account is registered for an epoch.",
  })
  registeredEpoch(
    @AccountArg() account: Hex,
    @EpochArg() epoch: string,
    @Ctx() { services }: Context,
  ): Promise<boolean> {
    return services.daSigners.registeredEpoch(account, BigInt(epoch));
  }
}

/** The rows of a quorum. */
@Resolver(() => DaQuorumType)
export class DaQuorumResolver {
  @FieldResolver(() => DaQuorumRowConnection, { description: "Its rows in their order." })
  rows(@Root() { signers }: DaQuorumType, @Args(() => PageArgs) args: PageArgs): Connection<DaQuorumRowType> {
    const rows = signers.map((signer, index) => ({ index, signer }));
    return pageOf(rows, args, ({ index }) => String(index).padStart(10, "0"));
  }
}
