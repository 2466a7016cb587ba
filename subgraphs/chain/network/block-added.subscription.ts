import "../../shared/schema/reflect.ts";
import { Resolver, Root, Subscription } from "type-graphql";
import type { ChainService } from "../../../src/chain/chain.service.ts";
import type { Context } from "../../shared/context.ts";
import { BlockType } from "./block.type.ts";

type Block = Awaited<ReturnType<ChainService["head"]>>;

/** Emits new blocks. */
@Resolver()
export class BlockAddedSubscription {
  @Subscription(() => BlockType, {
    description:
      "Emits the newest block, then each new block. After a reorg, it also emits the replacement blocks; `parentHash` " +
      "links each block to its parent. It has no cursor: read `block(number)` for blocks that were missed.",
    subscribe: ({ context }: { readonly context: Context }) => context.services.blocks.follow(),
  })
  blockAdded(@Root() block: Block): Block {
    return block;
  }
}
