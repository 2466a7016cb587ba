import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { DaSigner } from "../../../src/chain/precompiles/da-signers.client.ts";
import { defineConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";

/** The precompile DASigners. The rest of its fields are resolved. */
@ObjectType("DaSigners", {
  description: "The signers of data availability, as the precompile DASigners has them.",
  simpleResolvers: true,
})
export class DaSignersType {
  @Field(() => AddressScalar, { description: "Where the precompile is." })
  address!: string;
}

/** A point of the curve's first group. */
@ObjectType("G1Point", { description: "A point of the curve's first group.", simpleResolvers: true })
export class G1PointType {
  @Field(() => BigIntScalar, { description: "Its first coordinate." })
  x!: bigint;

  @Field(() => BigIntScalar, { description: "Its second coordinate." })
  y!: bigint;
}

/** A point of the curve's second group. */
@ObjectType("G2Point", {
  description:
    "A point of the curve's second group. Each coordinate is a pair `[a, b]` and means `b * i + a`.",
  simpleResolvers: true,
})
export class G2PointType {
  @Field(() => [BigIntScalar], { description: "Its first coordinate." })
  x!: readonly bigint[];

  @Field(() => [BigIntScalar], { description: "Its second coordinate." })
  y!: readonly bigint[];
}

/** A signer of data availability. */
@ObjectType("DaSigner", { description: "A signer of data availability.", simpleResolvers: true })
export class DaSignerType implements DaSigner {
  @Field(() => AddressScalar, { description: "Its account." })
  account!: DaSigner["account"];

  @Field(() => String, { description: "Where it listens." })
  socket!: string;

  @Field(() => G1PointType, { description: "Its BLS key in the first group." })
  publicKeyG1!: G1PointType;

  @Field(() => G2PointType, { description: "Its BLS key in the second group." })
  publicKeyG2!: G2PointType;
}

/** A row of a quorum. */
@ObjectType("DaQuorumRow", { description: "A row of a quorum, and whose it is.", simpleResolvers: true })
export class DaQuorumRowType {
  @Field(() => Int, { description: "Which row, from 0 on." })
  index!: number;

  @Field(() => AddressScalar, { description: "The signer whose it is; one may have several rows." })
  signer!: string;
}

/** A list of rows of a quorum. */
export const DaQuorumRowConnection = defineConnection("DaQuorumRow", () => DaQuorumRowType);

/** A quorum of an epoch. The rest of its fields are resolved. */
@ObjectType("DaQuorum", { description: "A quorum of an epoch.", simpleResolvers: true })
export class DaQuorumType {
  @Field(() => BigIntScalar, { description: "Its epoch." })
  epoch!: bigint;

  @Field(() => BigIntScalar, { description: "Its number in the epoch, from 0 on." })
  quorumId!: bigint;

  @Field(() => Int, { description: "How many rows it has." })
  size!: number;

  /** Whose each row is. */
  signers!: readonly string[];
}
