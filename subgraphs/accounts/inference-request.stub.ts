import "../shared/schema/reflect.ts";
import { Directive, ObjectType } from "type-graphql";
import { NodeType } from "../shared/nodes/node.type.ts";
import { toNodeId } from "../shared/nodes/node-id.ts";

/** A request of the inference subgraph, by its global id. */
@Directive('@key(fields: "id", resolvable: false)')
@ObjectType("InferenceRequest", { implements: NodeType, simpleResolvers: true })
export class InferenceRequestStub extends NodeType {}

/** The request of a raw id. */
export function toRequestStub(requestId: string): InferenceRequestStub {
  return { id: toNodeId("InferenceRequest", requestId) };
}
