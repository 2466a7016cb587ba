import "../../shared/schema/reflect.ts";
import { type ClassType, Directive, ObjectType } from "type-graphql";
import { NodeType } from "../../shared/nodes/node.type.ts";
import { NODE_NAMES, type NodeName } from "../../shared/nodes/node-id.ts";
import { InferenceRequestStub } from "../inference-request.stub.ts";

/** The entities of this subgraph. */
const OWN: readonly NodeName[] = ["Account", "ApiKey", "ManagementKey", "Deposit", "Webhook", "TagBudget"];

/** Whether this subgraph has the entity itself, and not only its global id. */
export function isOwnNode(name: NodeName): boolean {
  return OWN.includes(name);
}

/** The entities of the other subgraphs, by their global ids: each resolves its own. */
export const NODE_STUBS: readonly ClassType[] = NODE_NAMES.filter((name) => !isOwnNode(name)).map((name) =>
  name === "InferenceRequest" ? InferenceRequestStub : defineStub(name),
);

function defineStub(name: NodeName): ClassType {
  @Directive('@key(fields: "id", resolvable: false)')
  @ObjectType(name, { implements: NodeType, simpleResolvers: true })
  class Stub extends NodeType {}
  return Stub;
}
