import { type GraphQLSchema, getNamedType, isInputObjectType } from "graphql";
import { NODE_NAMES } from "../../subgraphs/shared/nodes/node-id.ts";
import { fieldsOf, objectTypesOf } from "./schema-walk.ts";

/** A field `id` is the global id of an entity, or the id of an event; every raw id has a name of its own. */
export function idsAreGlobal(schema: GraphQLSchema): readonly string[] {
  const identified = objectTypesOf(schema).flatMap((type) => {
    const isNode = type.getInterfaces().some(({ name }) => name === "Node" || name === "Event");
    const { id } = type.getFields();
    if (!id) return [];
    if (!isNode) return [`${type.name}.id is not of an entity or an event: name it after what it identifies`];
    return String(id.type) === "ID!" ? [] : [`${type.name}.id is not an ID!`];
  });
  const others = fieldsOf(schema)
    .filter(({ name, type }) => getNamedType(type).name === "ID" && name !== "id")
    .map(({ path }) => `${path} is a raw id: its type is not ID`);
  return [...identified, ...others];
}

/** An `ID` argument names an entity: `id`, `ids` or `...Id`. It accepts global and raw ids. */
export function idArgumentsNameEntities(schema: GraphQLSchema): readonly string[] {
  const args = fieldsOf(schema).flatMap(({ path, args }) =>
    args.map(({ name, type }) => ({ path: `${path}(${name})`, name, type })),
  );
  const members = Object.values(schema.getTypeMap())
    .filter(isInputObjectType)
    .flatMap((input) =>
      Object.values(input.getFields()).map(({ name, type }) => ({
        path: `${input.name}.${name}`,
        name,
        type,
      })),
    );
  return [...args, ...members]
    .filter(({ name, type }) => getNamedType(type).name === "ID" && !/^(ids?|[a-z]\w*Ids?)$/.test(name))
    .map(({ path }) => `${path} is an ID that is not named id, ids or ...Id`);
}

/** The entities of the schema are those that `node` finds. */
export function entitiesAreFound(schema: GraphQLSchema): readonly string[] {
  const nodes = objectTypesOf(schema).filter((type) =>
    type.getInterfaces().some(({ name }) => name === "Node"),
  );
  const names: readonly string[] = NODE_NAMES;
  return nodes.filter(({ name }) => !names.includes(name)).map(({ name }) => `node does not find ${name}`);
}
