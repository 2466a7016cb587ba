/** The types of entities: each implements `Node`, and is found by its id alone. */
export const NODE_NAMES = [
  "Account",
  "ApiKey",
  "ManagementKey",
  "Deposit",
  "Webhook",
  "TagBudget",
  "ImageJob",
  "Batch",
  "InferenceRequest",
  "Model",
  "Provider",
  "File",
  "Submission",
  "KvStream",
  "KvTransaction",
  "AgentToken",
  "AgentContract",
  "SealedKey",
  "Network",
] as const;

/** The name of an entity's type. */
export type NodeName = (typeof NODE_NAMES)[number];

/** What a global id names: the entity's type, and its raw key. */
export type NodeKey = { readonly name: NodeName; readonly key: string };

const names: ReadonlySet<string> = new Set(NODE_NAMES);

/** The global id of an entity: its type and raw key in base64url, so that no lookup is needed to read it. */
export function toNodeId(name: NodeName, key: string): string {
  return Buffer.from(`${name}:${key}`).toString("base64url");
}

/** The entities whose raw key is hex, or has it: they are found by it in any letter case. */
const CASELESS: ReadonlySet<NodeName> = new Set([
  "Account",
  "ImageJob",
  "Provider",
  "File",
  "KvStream",
  "AgentToken",
  "AgentContract",
]);

/** The one id that an entity has, whichever form of its key it was found by: caches of clients know entities by it. */
export function canonicalNodeId({ name, key }: NodeKey): string {
  return toNodeId(name, CASELESS.has(name) ? key.toLowerCase() : key);
}

/** Reads a global id; undefined for any other text. */
export function readNodeId(id: string): NodeKey | undefined {
  const text = Buffer.from(id, "base64url").toString("utf8");
  const colon = text.indexOf(":");
  const [name, key] = [text.slice(0, colon), text.slice(colon + 1)];
  return isNodeName(name) && toNodeId(name, key) === id ? { name, key } : undefined;
}

/**
 * The raw key that an `ID` argument names. It accepts the entity's global id, and its raw id as REST returns it. A
 * global id of another type stays as it is, and is then not found.
 */
export function readKeyOf(name: NodeName, id: string): string {
  const node = readNodeId(id);
  return node?.name === name ? node.key : id;
}

function isNodeName(name: string): name is NodeName {
  return names.has(name);
}
