import "../../shared/schema/reflect.ts";
import { Resolver, Root, Subscription } from "type-graphql";
import type { ChainService } from "../../../src/chain/chain.service.ts";
import type { Context } from "../../shared/context.ts";
import { BlockType } from "./block.type.ts";

type Block = Awaited<ReturnType<ChainService["head"]>>;

/** Tells of new blocks. */
@Resolver()
export class NewBlockSubscription {
  @Subscription(() => BlockType, {
    description:
      "The newest block, then each one that comes. After a reorganisation also those that took the place of others: each names the one before it.",
    subscribe: ({ context }: { readonly context: Context }) => context.services.blocks.follow(),
  })
  newBlock(@Root() block: Block): Block {
    return block;
  }
}
