import { AppError } from "../../../src/kernel/errors.ts";
import { isId } from "../../../src/kernel/text/ids.ts";
import { type NodeName, readNodeId } from "./node-id.ts";

/** The id of a model in a filter; undefined without one. Throws `invalid_parameter` for the id of another type. */
export function readModelId(id: string | null | undefined, param: string): string | undefined {
  return readFilterId("Model", id, param);
}

/** The id of an `sk-` key in a filter, in lower case; undefined without one. Throws `invalid_parameter` for other ids. */
export function readApiKeyId(id: string | null | undefined, param: string): string | undefined {
  const key = readFilterId("ApiKey", id, param);
  if (key !== undefined && !isId(key)) throw wrong(param, "ApiKey");
  return key?.toLowerCase();
}

/** The raw key of an id in a filter. An id that cannot match is an error there: an empty list would hide the mistake. */
function readFilterId(name: NodeName, id: string | null | undefined, param: string): string | undefined {
  if (id == null) return undefined;
  const node = readNodeId(id);
  if (node && node.name !== name) throw wrong(param, name);
  return node?.key ?? id;
}

function wrong(param: string, name: NodeName): AppError {
  return new AppError("invalid_parameter", `\`${param}\` is not an id of type \`${name}\`.`, { param });
}
