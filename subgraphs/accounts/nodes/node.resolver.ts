import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Directive, ID, Query, Resolver } from "type-graphql";
import { AppError } from "../../../src/kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { NODE_FINDERS } from "../../shared/nodes/find-node.ts";
import { NodeType } from "../../shared/nodes/node.type.ts";
import { canonicalNodeId, readNodeId } from "../../shared/nodes/node-id.ts";
import { isOwnNode } from "./node.stubs.ts";

const MAX_IDS = 100;
const ACCESS = "Requires the same credential as the entity's own field, and fails in the same way.";

/** Any entity by its global id. The other subgraphs complete theirs. */
@Resolver()
export class NodeResolver {
  @Query(() => NodeType, {
    nullable: true,
    description: `An entity by its global id. Null if there is none. ${ACCESS}`,
  })
  node(
    @Arg("id", () => ID, { description: "The global id: the `id` of an entity." }) id: string,
    @Ctx() context: Context,
  ): Promise<NodeType | null> {
    return findNode(id, context);
  }

  @Directive(`@listSize(assumedSize: ${MAX_IDS})`)
  @Query(() => [NodeType], {
    nullable: "itemsAndList",
    description: `Entities by their global ids, in the order of the ids. An item is null if its entity does not exist. ${ACCESS}`,
  })
  nodes(
    @Arg("ids", () => [ID], { description: `The global ids, at most ${MAX_IDS}.` }) ids: readonly string[],
    @Ctx() context: Context,
  ): Promise<NodeType | null>[] {
    if (ids.length > MAX_IDS)
      throw new AppError("invalid_parameter", `At most ${MAX_IDS} ids are accepted.`, { param: "ids" });
    return ids.map((id) => findNode(id, context));
  }
}

async function findNode(id: string, context: Context): Promise<NodeType | null> {
  const node = readNodeId(id);
  const found = node && (await NODE_FINDERS[node.name](node.key, context));
  if (!node || !found) return null;
  const shown = isOwnNode(node.name) ? found : { id: canonicalNodeId(node) };
  return { ...shown, __typename: node.name } as NodeType & { readonly __typename: string };
}
