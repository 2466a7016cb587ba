import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ChainService } from "../../../src/chain/chain.service.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar } from "../../shared/schema/scalars.ts";

type WatcherStatus =
  Awaited<ReturnType<ChainService["watchers"]>> extends ReadonlyMap<string, infer S> ? S : never;

/** What a watcher of the chain is at. */
const WatcherPhase = defineEnum<WatcherStatus["state"]>(
  "WatcherPhase",
  "What a watcher of the chain is at.",
  {
    backfilling: "It reads the past.",
    following: "It is near the newest block.",
    halted_deep_reorg: "It halted: the chain that it read is gone, deeper than it may take back.",
    rpc_unavailable: "The chain's RPC does not answer, or answers nonsense; it tries again.",
    rpc_wrong_chain: "The chain's RPC is of another chain, and nothing of it is read; it tries again.",
    rpc_behind: "The chain's RPC has lost its newest blocks, which were read already; it waits for them.",
    failing: "What the chain tells cannot be taken in, the operator's log says why; it tries again.",
  },
);

/** How far a watcher has read the chain. */
@ObjectType("WatcherState", {
  description: "How far a watcher has read the chain, as of its last word.",
  simpleResolvers: true,
})
export class WatcherStateType {
  @Field(() => String, { description: "What it reads, such as `deposits` or `files`." })
  name!: string;

  @Field(() => WatcherPhase, { description: "What it is at." })
  state!: WatcherStatus["state"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The newest block that it has read, null before the first.",
  })
  scannedBlock!: bigint | undefined;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The newest block that it has seen, null before the first.",
  })
  headBlock!: bigint | undefined;

  @Field(() => BigIntScalar, { nullable: true, description: "How many blocks it has yet to read." })
  lagBlocks!: bigint | undefined;

  @Field(() => Int, {
    description: "How many blocks the latest reorganisation took back; 0 if there was none.",
  })
  lastReorgDepth!: number;

  @Field(() => String, { nullable: true, description: "Why it halted; null unless it did." })
  note!: string | undefined;
}

/** The watchers by their names, as a list. */
export function toWatcherStates(watchers: ReadonlyMap<string, WatcherStatus>): WatcherStateType[] {
  return [...watchers].map(([name, status]) => ({ name, ...status }));
}
