import "../schema/reflect.ts";
import { type ClassType, Field, FieldResolver, ID, InterfaceType, Resolver, Root } from "type-graphql";
import { type NodeName, toNodeId } from "./node-id.ts";

const ID_DESCRIPTION =
  "The entity's global id. It is opaque: pass it to `node`, or where an `ID` is expected.";

/** An entity that `node` finds by its global id. Values of the field `node` carry their type's name. */
@InterfaceType("Node", {
  description: "An entity with a global id. The fields `node` and `nodes` find it by that id.",
  autoRegisterImplementations: false,
})
export abstract class NodeType {
  @Field(() => ID, { description: ID_DESCRIPTION })
  id!: string;
}

/** How an entity is identified. */
type Identity<Row> = {
  readonly name: NodeName;
  readonly keyOf: (row: Row) => string;
  /** The field with the raw id, for entities whose raw id is not a field by itself. */
  readonly raw?: { readonly field: string; readonly description: string };
};

/** The resolver classes of an entity's global id, and of the field with its raw id. */
export function defineNodeResolvers<Row extends object>(
  type: () => ClassType,
  { name, keyOf, raw }: Identity<Row>,
): readonly (new () => object)[] {
  @Resolver(type)
  class NodeIdResolver {
    @FieldResolver(() => ID, { description: ID_DESCRIPTION })
    id(@Root() row: Row): string {
      return toNodeId(name, keyOf(row));
    }
  }
  if (!raw) return [NodeIdResolver];
  const { field, description } = raw;
  @Resolver(type)
  class RawIdResolver {
    @FieldResolver(() => String, { name: field, description })
    rawId(@Root() row: Row): string {
      return keyOf(row);
    }
  }
  return [NodeIdResolver, RawIdResolver];
}
