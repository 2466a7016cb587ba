import { ResourceNotFoundError } from "@modelcontextprotocol/server";
import type { App } from "../../src/app.ts";
import { AppError } from "../../src/kernel/errors.ts";
import { isHash32, lowerHex } from "../../src/kernel/text/hex.ts";
import { LIST_FILES, LIST_REQUESTS, READ_REQUEST } from "./documents.ts";
import type { McpCall, OperationRunner } from "./run-operation.ts";
import { isDenial, type OperationResult, protocolError, textOf } from "./tool-result.ts";

const JSON_TYPE = "application/json";
const REQUESTS = "zerograph://requests/";
const FILES = "zerograph://files/";
const LISTED = 50;
/** A longer file is described instead of returned: it is downloaded over REST. */
const MAX_FILE_BYTES = 1_048_576;

type Listed = { readonly uri: string; readonly name: string; readonly mimeType?: string };
type Contents = { readonly uri: string; readonly mimeType: string } & (
  | { readonly text: string }
  | { readonly blob: string }
);

/** The templates of all resources. */
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${REQUESTS}{requestId}`,
    name: "request",
    title: "Request",
    description: "One inference request of the caller's account: its status, cost, timing and provider.",
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: `${FILES}{root}`,
    name: "file",
    title: "File",
    description:
      "A stored file by its merkle root, verified. Of a file of more than 1 MiB, its size and its URL below this server.",
  },
] as const;

type Node = Readonly<Record<string, unknown>>;
type Options = { readonly call: McpCall; readonly runner: OperationRunner; readonly signal: AbortSignal };

/** The newest requests of the caller, as far as it may read them, and the newest files of the network. Throws `ProtocolError`. */
export async function listResources({ call, runner, signal }: Options): Promise<Listed[]> {
  const variables = { first: LISTED };
  const [requests, files] = await Promise.all([
    runner.run(call, { query: LIST_REQUESTS, variables }, signal),
    runner.run(call, { query: LIST_FILES, variables }, signal),
  ]);
  return [
    ...nodesAt(requests, ["viewer", "account", "requests"]).map(({ requestId, modelId, status }) => ({
      uri: `${REQUESTS}${requestId}`,
      name: `${modelId}, ${status}`,
      mimeType: JSON_TYPE,
    })),
    ...nodesAt(files, ["files"]).map(({ root, sizeBytes }) => ({
      uri: `${FILES}${root}`,
      name: `File of ${sizeBytes} bytes`,
    })),
  ];
}

/** Reads a resource. Throws `ResourceNotFoundError`. */
export async function readResource(
  uri: string,
  options: Options & { readonly app: Pick<App, "downloads"> },
): Promise<Contents> {
  if (uri.startsWith(REQUESTS)) return readRequest(uri, options);
  const root = uri.startsWith(FILES) ? uri.slice(FILES.length) : "";
  if (!isHash32(root)) throw new ResourceNotFoundError(uri);
  return readFile(uri, options);
}

async function readRequest(uri: string, { call, runner, signal }: Options): Promise<Contents> {
  const id = decodeURIComponentOrNone(uri.slice(REQUESTS.length));
  const { data, errors } = await runner.run(call, { query: READ_REQUEST, variables: { id } }, signal);
  if (data?.request == null) {
    const [error] = errors ?? [];
    throw error ? protocolError(error.message, error.extensions?.code) : new ResourceNotFoundError(uri);
  }
  return { uri, mimeType: JSON_TYPE, text: textOf(data.request) };
}

async function readFile(
  uri: string,
  { app, signal }: { readonly app: Pick<App, "downloads">; readonly signal: AbortSignal },
): Promise<Contents> {
  const root = lowerHex(uri.slice(FILES.length) as `0x${string}`);
  try {
    const download = await app.downloads.ofFile({ root });
    const { sizeBytes } = download;
    if (sizeBytes > MAX_FILE_BYTES)
      return { uri, mimeType: JSON_TYPE, text: textOf({ root, sizeBytes, path: `/file?root=${root}` }) };
    const mimeType = await app.downloads.mediaType(download);
    const pieces: Buffer[] = [];
    for await (const piece of app.downloads.stream(download, { start: 0, end: sizeBytes })) {
      if (signal.aborted) break;
      pieces.push(piece);
    }
    return { uri, mimeType, blob: Buffer.concat(pieces).toString("base64") };
  } catch (error) {
    if (error instanceof AppError && error.status === 404) throw new ResourceNotFoundError(uri);
    throw error;
  }
}

/** The nodes of a list, none of one that the caller may not read. Any other failure is thrown. */
function nodesAt({ data, errors = [] }: OperationResult, path: readonly string[]): readonly Node[] {
  const failure = errors.find(({ extensions }) => !isDenial(extensions?.code));
  if (failure) throw protocolError(failure.message, failure.extensions?.code);
  const list = path.reduce<unknown>((value, name) => Object(value)[name], data);
  const { nodes } = Object(list) as { readonly nodes?: unknown };
  return Array.isArray(nodes) ? nodes : [];
}

function decodeURIComponentOrNone(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
