import "../../shared/schema/reflect.ts";
import { Field, Int, ObjectType } from "type-graphql";
import type { ChainService } from "../../../src/chain/chain.service.ts";
import { defineEnum } from "../../shared/schema/enumeration.ts";
import { BigIntScalar } from "../../shared/schema/scalars.ts";

type WatcherStatus =
  Awaited<ReturnType<ChainService["watchers"]>> extends ReadonlyMap<string, infer S> ? S : never;

/** The phase of a chain watcher. */
const WatcherPhase = defineEnum<WatcherStatus["state"]>("WatcherPhase", "The phase of a chain watcher.", {
  backfilling: "The watcher scans past blocks.",
  following: "The watcher is near the newest block.",
  halted_deep_reorg: "The watcher halted: a reorg is deeper than the watcher may roll back.",
  rpc_unavailable: "The chain's RPC does not respond, or responds with invalid data; the watcher retries.",
  rpc_wrong_chain: "The chain's RPC serves another chain, and nothing is read from it; the watcher retries.",
  rpc_behind:
    "The chain's RPC lacks blocks that were already scanned, or its newest block is more than 2 minutes old; the watcher waits for newer ones.",
  failing: "A log handler failed, the operator's log says why; the watcher retries.",
});

/** How far a watcher has scanned the chain. */
@ObjectType("WatcherState", {
  description: "How far a watcher has scanned the chain, as of its last report.",
  simpleResolvers: true,
})
export class WatcherStateType {
  @Field(() => String, { description: "The watcher's name, such as `deposits` or `files`." })
  name!: string;

  @Field(() => WatcherPhase, { name: "phase", simple: false, description: "The watcher's phase." })
  state!: WatcherStatus["state"];

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The last scanned block. Null before the first.",
  })
  scannedBlock!: bigint | undefined;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The newest known block of the chain. Null before the first.",
  })
  headBlock!: bigint | undefined;

  @Field(() => BigIntScalar, {
    nullable: true,
    description: "The number of blocks left to scan. Null before the first scan.",
  })
  lagBlocks!: bigint | undefined;

  @Field(() => Int, {
    description: "The number of blocks that the latest reorg reverted. 0 if there was none.",
  })
  lastReorgDepth!: number;

  @Field(() => String, { nullable: true, description: "Why the watcher halted. Null unless halted." })
  note!: string | undefined;
}

/** Maps the watchers by name to a list. */
export function toWatcherStates(watchers: ReadonlyMap<string, WatcherStatus>): WatcherStateType[] {
  return [...watchers].map(([name, status]) => ({ name, ...status }));
}
