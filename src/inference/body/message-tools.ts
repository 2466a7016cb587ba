import type { Fields } from "./fields.ts";
import { eachPart } from "./message-parts.ts";

/** A tool that a request offers besides its list of `tools`, and its path in the body. */
export type MessageTool = { readonly tool: unknown; readonly path: string };

/**
 * The tools that the messages and the system prompt of a body offer: by blocks of type `tool_addition`, by the
 * `tool_changes` of a compaction and by `mcp_tool_listing` (Anthropic's Messages, beta), and by the `tools` of a message,
 * which the templates of some models read. A reference to a tool that the body defines offers no other.
 */
export function toolsInMessages({ messages, system }: Fields): readonly MessageTool[] {
  const offers: MessageTool[] = [];
  if (Array.isArray(messages))
    for (const [at, message] of messages.entries()) {
      if (!isFields(message)) continue;
      addListed(message.tools, `messages.${at}.tools`, offers);
      eachPart(message.content, `messages.${at}.content`, (block, path) => addOffers(block, path, offers));
    }
  eachPart(system, "system", (block, path) => addOffers(block, path, offers));
  return offers;
}

function addOffers(block: Fields, path: string, offers: MessageTool[]): void {
  const { type, tool_changes: changes } = block;
  if (type === "tool_addition") addAdded(block.tool, `${path}.tool`, offers);
  if (type === "mcp_tool_listing") offers.push({ tool: block, path });
  if (!Array.isArray(changes)) return;
  for (const [at, change] of changes.entries())
    if (isFields(change) && change.type !== "tool_removal")
      addAdded(change.tool, `${path}.tool_changes.${at}.tool`, offers);
}

/** The definition of an added tool. Any other type is that of a tool which the provider has. */
function addAdded(tool: unknown, path: string, offers: MessageTool[]): void {
  const { type, definition } = isFields(tool) ? tool : {};
  if (type === "tool_reference") return;
  if (type === "tool_definition") offers.push({ tool: definition, path: `${path}.definition` });
  else offers.push({ tool, path });
}

function addListed(tools: unknown, path: string, offers: MessageTool[]): void {
  if (tools === undefined || tools === null) return;
  if (!Array.isArray(tools)) offers.push({ tool: tools, path });
  else for (const [at, tool] of tools.entries()) offers.push({ tool, path: `${path}.${at}` });
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
