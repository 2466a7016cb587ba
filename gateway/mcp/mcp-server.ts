import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from "@modelcontextprotocol/server";
import type { App } from "../../src/app.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { API_VERSION } from "../../src/rest/openapi/openapi.ts";
import { denialsOf } from "../federation/engine/guards.ts";
import type { DocumentTool } from "./document-tools.ts";
import { generateImage, IMAGE_TOOL } from "./image-tool.ts";
import { listResources, RESOURCE_TEMPLATES, readResource } from "./resources.ts";
import type { McpCall, OperationRunner } from "./run-operation.ts";
import { argumentFault, protocolError, toolError, toToolResult } from "./tool-result.ts";

const PAGE = 100;
const INSTRUCTIONS =
  "Tools are operations of one account on an inference router, a storage network and a chain. Amounts are in neuron, " +
  "10^-18 of a token. What a key may not do is not listed.";

/** The parts of the product that MCP clients use. */
export type McpParts = {
  readonly app: App;
  readonly runner: OperationRunner;
  readonly tools: ReadonlyMap<string, DocumentTool>;
};

/** Creates the MCP server of one request. */
export function createMcpServer(parts: McpParts, call: McpCall): Server {
  const { app, runner } = parts;
  const server = new Server(
    { name: "zerograph", title: "zerograph", version: API_VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler("tools/list", ({ params }) => listTools(parts, call, params?.cursor));
  server.setRequestHandler("tools/call", ({ params }, context) =>
    callTool(parts, call, params, context).catch((error: unknown) => toolFailure(app, error)),
  );
  server.setRequestHandler("resources/templates/list", ({ params }) => {
    refuseCursor(params?.cursor);
    return { resourceTemplates: [...RESOURCE_TEMPLATES] };
  });
  server.setRequestHandler("resources/list", async ({ params }, { mcpReq: { signal } }) => {
    refuseCursor(params?.cursor);
    return { resources: await shown(listResources({ call, runner, signal })) };
  });
  server.setRequestHandler("resources/read", async ({ params: { uri } }, { mcpReq: { signal } }) => ({
    contents: [await shown(readResource(uri, { app, call, runner, signal }))],
  }));
  return server;
}

function listTools({ tools }: McpParts, { account }: McpCall, cursor: string | undefined) {
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0) throw invalidCursor();
  const { principal } = account;
  // Mutations without a guard bill a key.
  const isAllowed = ({ guarded, isQuery }: DocumentTool) =>
    (isQuery || guarded.length > 0 || principal.kind === "api-key") &&
    denialsOf(guarded, { principal }).denied.size === 0;
  const allowed = [...tools.values()].filter(isAllowed);
  const listed = [...(principal.kind === "api-key" ? [IMAGE_TOOL] : []), ...allowed.map(toListed)];
  const end = from + PAGE;
  return { tools: listed.slice(from, end), ...(end < listed.length && { nextCursor: String(end) }) };
}

/** Of a list with one page, no cursor was ever given out. */
function refuseCursor(cursor: string | undefined): void {
  if (cursor !== undefined) throw invalidCursor();
}

function invalidCursor(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, "cursor: invalid");
}

function toListed({ name, description, isQuery, inputSchema }: DocumentTool): Tool {
  return {
    name,
    description,
    inputSchema: inputSchema as Tool["inputSchema"],
    annotations: { readOnlyHint: isQuery, ...(!isQuery && { destructiveHint: true }), openWorldHint: true },
  };
}

type Params = { readonly name: string; readonly arguments?: Readonly<Record<string, unknown>> | undefined };

async function callTool(
  { runner, tools }: McpParts,
  call: McpCall,
  { name, arguments: args = {} }: Params,
  { mcpReq }: ServerContext,
) {
  const { signal, _meta, notify } = mcpReq;
  if (name === IMAGE_TOOL.name) {
    const progressToken = _meta?.progressToken;
    const progress = async ({ number, message }: { readonly number: number; readonly message: string }) => {
      if (progressToken === undefined) return;
      await notify({
        method: "notifications/progress",
        params: { progressToken, progress: number, message },
      });
    };
    return generateImage(args, { call, runner, signal, progress });
  }
  const tool = tools.get(name);
  if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`);
  const refused = argumentFault(args, tool.inputSchema);
  if (refused) return refused;
  return toToolResult(await runner.run(call, { query: tool.text, variables: args }, signal), tool.places);
}

/** A failure of the product as a result that a model can read. Throws what is an error of the protocol. */
function toolFailure({ log }: Pick<App, "log">, error: unknown) {
  // Nobody reads the result of a client that left.
  const isGone = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
  if (error instanceof ProtocolError || isGone) throw error;
  if (error instanceof AppError) return toolError(error);
  log.error({ err: error }, "a tool failed");
  return toolError({ code: "internal_error", message: "Something went wrong on our side." });
}

/** Converts failures of the product to errors of the protocol with its messages. */
async function shown<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof AppError ? protocolError(error.message, error.code) : error;
  }
}
