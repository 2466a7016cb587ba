import "../../shared/schema/reflect.ts";
import { Arg, Args, Ctx, FieldResolver, Int, Query, Resolver, Root } from "type-graphql";
import type { DaSigner } from "../../../src/chain/precompiles/da-signers.client.ts";
import { listOf } from "../../../src/kernel/page.ts";
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

const EpochArg = () => Arg("epoch", () => BigIntScalar, { description: "The epoch." });
const QuorumIdArg = () =>
  Arg("quorumId", () => BigIntScalar, { description: "0-based id of the quorum within the epoch." });
const AccountArg = () => Arg("account", () => AddressScalar, { description: "The account's address." });

/** The seven reads of the precompile DASigners (SPEC 4.4). */
@Resolver(() => DaSignersType)
export class DaSignersResolver {
  @Query(() => DaSignersType, {
    nullable: true,
    description:
      "The data availability signers. The fields fail with `contract_not_found` on a chain without the precompile.",
  })
  daSigners(@Ctx() { services }: Context): DaSignersType {
    return { address: services.daSigners.address() };
  }

  @FieldResolver(() => BigIntScalar, {
    nullable: true,
    description:
      "The current epoch. Null, with an error, if the chain has no such precompile or cannot be read.",
  })
  epochNumber(@Ctx() { services }: Context): Promise<bigint> {
    return services.daSigners.epochNumber();
  }

  @FieldResolver(() => BigIntScalar, { nullable: true, description: "The number of quorums of an epoch." })
  quorumCount(@EpochArg() epoch: string, @Ctx() { services }: Context): Promise<bigint> {
    return services.daSigners.quorumCount(BigInt(epoch));
  }

  @FieldResolver(() => Boolean, { nullable: true, description: "Whether an account is a signer." })
  isSigner(@AccountArg() account: Hex, @Ctx() { services }: Context): Promise<boolean> {
    return services.daSigners.isSigner(account);
  }

  @FieldResolver(() => [DaSignerType], {
    nullable: true,
    description: "The signers with these account addresses, in the same order.",
  })
  signers(
    @Arg("accounts", () => [AddressScalar], { description: "The addresses of the accounts, 1 to 100." })
    accounts: readonly Hex[],
    @Ctx() { services }: Context,
  ): Promise<readonly DaSigner[]> {
    return services.daSigners.signers(accounts);
  }

  @FieldResolver(() => DaQuorumType, { nullable: true, description: "A quorum of an epoch." })
  async quorum(
    @EpochArg() epoch: string,
    @QuorumIdArg() quorumId: string,
    @Ctx() { services }: Context,
  ): Promise<DaQuorumType> {
    const signers = await services.daSigners.quorum(BigInt(epoch), BigInt(quorumId));
    return { epoch: BigInt(epoch), quorumId: BigInt(quorumId), rowCount: signers.length, signers };
  }

  @FieldResolver(() => AddressScalar, {
    nullable: true,
    description: "The signer of one row of a quorum. It costs less than `quorum`, which reads every row.",
  })
  rowSigner(
    @EpochArg() epoch: string,
    @QuorumIdArg() quorumId: string,
    @Arg("rowIndex", () => Int, { description: "0-based index of the row." }) rowIndex: number,
    @Ctx() { services }: Context,
  ): Promise<string> {
    return services.daSigners.quorumRow(BigInt(epoch), BigInt(quorumId), rowIndex);
  }

  @FieldResolver(() => Boolean, {
    nullable: true,
    description: "Whether an account is registered as a signer of an epoch.",
  })
  registered(
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
  @FieldResolver(() => DaQuorumRowConnection, {
    nullable: true,
    description: "The rows of the quorum, in order.",
  })
  rows(
    @Root() { epoch, quorumId, signers }: DaQuorumType,
    @Args(() => PageArgs) args: PageArgs,
  ): Connection<DaQuorumRowType> {
    const rows = signers.map((signer, index) => ({ index, signer }));
    const list = listOf("quorum-rows", `${epoch}`, `${quorumId}`);
    return pageOf(list, rows, args, ({ index }) => String(index).padStart(10, "0"));
  }
}
