import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { DaSigner } from "../../../src/chain/precompiles/da-signers.client.ts";
import { defineCountedConnection } from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar } from "../../shared/schema/scalars.ts";

/** The precompile DASigners. The rest of its fields are resolved. */
@ObjectType("DaSigners", {
  description: "The data availability signers, read from the precompile DASigners.",
  simpleResolvers: true,
})
export class DaSignersType {
  @Field(() => AddressScalar, { description: "The address of the precompile." })
  address!: string;
}

/** A point of the curve's first group. */
@ObjectType("G1Point", { description: "A point of the curve's first group (G1).", simpleResolvers: true })
export class G1PointType {
  @Field(() => BigIntScalar, { description: "The x coordinate." })
  x!: bigint;

  @Field(() => BigIntScalar, { description: "The y coordinate." })
  y!: bigint;
}

/** A point of the curve's second group. */
@ObjectType("G2Point", {
  description:
    "A point of the curve's second group (G2). Each coordinate is a pair `[a, b]` that means `b * i + a`.",
  simpleResolvers: true,
})
export class G2PointType {
  @Field(() => [BigIntScalar], { description: "The x coordinate." })
  x!: readonly bigint[];

  @Field(() => [BigIntScalar], { description: "The y coordinate." })
  y!: readonly bigint[];
}

/** A signer of data availability. */
@ObjectType("DaSigner", { description: "A data availability signer.", simpleResolvers: true })
export class DaSignerType implements DaSigner {
  @Field(() => AddressScalar, { name: "accountAddress", simple: false, description: "The signer's account." })
  account!: DaSigner["account"];

  @Field(() => String, { description: "The socket address on which the signer listens." })
  socket!: string;

  @Field(() => G1PointType, { description: "The signer's BLS public key in G1." })
  publicKeyG1!: G1PointType;

  @Field(() => G2PointType, { description: "The signer's BLS public key in G2." })
  publicKeyG2!: G2PointType;
}

/** A row of a quorum. */
@ObjectType("DaQuorumRow", { description: "A row of a quorum and its signer.", simpleResolvers: true })
export class DaQuorumRowType {
  @Field(() => Int, { description: "0-based index of the row." })
  index!: number;

  @Field(() => AddressScalar, { description: "The signer of the row. A signer may have several rows." })
  signer!: string;
}

/** A list of rows of a quorum. */
export const DaQuorumRowConnection = defineCountedConnection("DaQuorumRow", () => DaQuorumRowType);

/** A quorum of an epoch. The rest of its fields are resolved. */
@ObjectType("DaQuorum", { description: "A quorum of an epoch.", simpleResolvers: true })
export class DaQuorumType {
  @Field(() => BigIntScalar, { description: "The quorum's epoch." })
  epoch!: bigint;

  @Field(() => BigIntScalar, { description: "0-based id of the quorum within its epoch." })
  quorumId!: bigint;

  @Field(() => Int, { description: "The number of rows." })
  rowCount!: number;

  /** The signer of each row. */
  signers!: readonly string[];
}
