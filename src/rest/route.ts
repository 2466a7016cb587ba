import { z } from "zod";
import type { App } from "../app.ts";
import type { ReplayKey } from "../idempotency/replay-key.ts";
import type { CacheRequest } from "../inference/answer-cache/cache-request.ts";
import { parseJson } from "../inference/body/request-fields.ts";
import { checkInput, checkTexts } from "../kernel/check.ts";
import { AppError } from "../kernel/errors.ts";
import { type Action, permit, type Reach } from "../keys/auth/permissions.ts";
import type { Principal } from "../keys/auth/principal.ts";
import type { ClientExchange } from "../receipts/client-exchange.ts";
import { cacheRequestOf } from "./cache-request.ts";
import { comparableOptions } from "./comparable-options.ts";
import { withClientField } from "./errors/client-field.ts";
import type { FormUpload } from "./form-upload/form-upload.ts";
import type { Answer } from "./http/answer.ts";
import { readCacheSeconds } from "./http/cache-headers.ts";
import { comparableBody } from "./http/comparable-body.ts";
import { headerOf } from "./http/headers.ts";
import { answerOnce, type IdempotencyMode } from "./idempotent.ts";
import type { JsonParts } from "./json-parts/json-parts.ts";
import { readTagHeaders } from "./tag-header.ts";

/** Who may call a route: everyone, or callers that have the permission for its action. */
export type Access = "public" | Action;

/** One call of a route: the authenticated principal, and its permitted account, empty on a public route. */
export type RouteCall<Query, Body, Headers = unknown> = {
  readonly principal: Principal;
  readonly account: string;
  /** The objects that the call may access; none on a public route. */
  readonly reach: Reach;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The JSON body of a route with `readsParts`, in place of `body`. */
  readonly parts: JsonParts;
  /** The form of a route that `takesUpload`, in place of `body`. */
  readonly upload: FormUpload | undefined;
  /** The headers that the route reads, parsed. */
  readonly headers: Headers;
  /** The raw path and query, not decoded. */
  readonly target: string;
  /** Whether the request is a HEAD. */
  readonly isHead: boolean;
  /** The client's raw headers: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /** Generated and unique: the id of the request in the ledger. */
  readonly requestId: string;
  /** Hashes the bytes of a request that is billed when it is answered. */
  readonly client: ClientExchange | undefined;
  /** Set if the client accepts a stored answer, on a route with `isCached`. */
  readonly cache: CacheRequest | undefined;
  /** Aborts when the client disconnects before the response. */
  readonly signal: AbortSignal;
  /** Counts more requests against the rate limit of the caller. Throws `rate_limit_exceeded`. */
  count(requests: number): Promise<void>;
  /** Reserves memory until the response is closed, before it is allocated. Throws `overloaded`. */
  reserve(bytes: number): void;
};

/** The successful responses of a route: JSON, and alternatives by media type. */
export type AnswerShape = {
  readonly status?: number;
  readonly json?: z.ZodType;
  readonly media?: Readonly<Record<string, z.ZodType>>;
  /** Of a download: its media types as 206. It may also be 304. */
  readonly partialMedia?: Readonly<Record<string, z.ZodType>>;
  /** When the response is 204 without a body, as a sentence. */
  readonly empty?: string;
};

/** One endpoint as data: the server mounts it, the guard reads `access`, and the tests and OpenAPI read all of it. */
export type Route = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly url: `/${string}`;
  /** The parameter name of the `*` at the end of the URL. */
  readonly wildcard: string;
  readonly summary: string;
  readonly access: Access;
  /** The format of error responses. */
  readonly errors: "openai" | "anthropic" | "storage" | "rpc";
  /** Whether clients that send `anthropic-version` get answers and errors in Anthropic's format. */
  readonly hasAnthropicShape: boolean;
  /** Whether pages of any origin may call the route: only routes that read no credential. */
  readonly allowAnyOrigin: boolean;
  /** Whether every request goes through an admission, which checks the key again. */
  readonly isAdmitted: boolean;
  /** Whether an equal request may get a stored answer, if the client requests it. */
  readonly isCached: boolean;
  /** Whether the answer may come from another model, which the request lists. */
  readonly hasFallbackModels: boolean;
  readonly bodyLimitBytes: number;
  /** Whether the JSON body is read in parts, as it may be large: base64 texts up to this length are stored. */
  readonly readsParts: { readonly maxTextLength: number } | undefined;
  /** Whether the body is a form with a file that is read while it arrives, whatever its size. */
  readonly takesUpload: boolean;
  /** Whether the body is a prompt, whose size limit the operator sets (`MAX_PROMPT_MIB`). */
  readonly takesPrompt: boolean;
  /** Whether, and how, a request repeated with its `Idempotency-Key` is answered without being executed again. */
  readonly repetition: IdempotencyMode | undefined;
  /** The schemas for OpenAPI. `bodies` are by media type; `failure` is set if it is not `ERROR_BODY`. */
  readonly query: z.ZodType;
  readonly bodies: Readonly<Record<string, z.ZodType>>;
  readonly answer: AnswerShape | undefined;
  readonly failure: z.ZodType | undefined;
  run(
    app: App,
    call: Omit<RouteCall<unknown, unknown>, "account" | "reach" | "body" | "headers" | "cache"> & {
      readonly body: Buffer;
      /** The header `Idempotency-Key`. */
      readonly idempotencyKey: string | undefined;
      /** Derived from the credential; undefined without one. */
      replayKey(): ReplayKey | undefined;
    },
  ): Promise<Answer>;
};

const NOTHING: Reach = { account: "" };
const DEFAULT_BODY_LIMIT = 262_144;
/** The default of `MAX_PROMPT_MIB`. */
const PROMPT_BODY_LIMIT = 32 * 1_048_576;
const JSON_TYPE = "application/json";

/**
 * Defines an endpoint. `query` and `body` are validated before `handle` is called; a fault in them is
 * `invalid_parameter` or `invalid_body`. With `body: "bytes"` the handler reads the body itself, and `bodies` has its
 * schemas by media type; a route with `readsParts` has it in `parts`, and one that `takesUpload` in `upload`. A parameter that `query` does not name is
 * rejected, unless `query` is a loose object. `headers` parses the headers that the route reads. Query and headers are
 * read before a stored answer is replayed.
 */
export function defineRoute<
  Query extends z.ZodObject = z.ZodObject,
  Body extends z.ZodType | "bytes" = z.ZodObject,
  Headers = undefined,
>(given: {
  method: Route["method"];
  url: Route["url"];
  wildcard?: string;
  summary: string;
  access: Access;
  query?: Query;
  body?: Body;
  headers?(app: App, rawHeaders: readonly string[]): Headers;
  bodies?: Route["bodies"];
  answer?: AnswerShape;
  failure?: z.ZodType;
  errors?: Route["errors"];
  hasAnthropicShape?: boolean;
  allowAnyOrigin?: boolean;
  isAdmitted?: boolean;
  isCached?: boolean;
  hasFallbackModels?: boolean;
  bodyLimitBytes?: number;
  readsParts?: Route["readsParts"];
  takesUpload?: boolean;
  takesPrompt?: boolean;
  repetition?: IdempotencyMode;
  handle(
    app: App,
    call: RouteCall<z.output<Query>, Body extends z.ZodType ? z.output<Body> : Buffer, Headers>,
  ): Promise<Answer>;
}): Route {
  const querySchema = strict(given.query ?? z.object({}));
  const hasQuery = given.query !== undefined;
  return {
    method: given.method,
    url: given.url,
    wildcard: given.wildcard ?? "path",
    summary: given.summary,
    access: given.access,
    errors: given.errors ?? "openai",
    hasAnthropicShape: given.hasAnthropicShape ?? false,
    allowAnyOrigin: given.allowAnyOrigin ?? false,
    isAdmitted: given.isAdmitted ?? false,
    isCached: given.isCached ?? false,
    hasFallbackModels: given.hasFallbackModels ?? false,
    bodyLimitBytes: given.bodyLimitBytes ?? (given.takesPrompt ? PROMPT_BODY_LIMIT : DEFAULT_BODY_LIMIT),
    readsParts: given.readsParts,
    takesUpload: given.takesUpload ?? false,
    takesPrompt: given.takesPrompt ?? false,
    repetition: given.repetition,
    query: querySchema,
    bodies: given.bodies ?? (given.body && given.body !== "bytes" ? { [JSON_TYPE]: given.body } : {}),
    answer: given.answer,
    failure: given.failure,
    async run(app, call) {
      const { idempotencyKey: key, replayKey } = call;
      const reach = given.access === "public" ? NOTHING : permit(call.principal, given.access);
      const { account } = reach;
      checkTexts(call.query as Readonly<Record<string, unknown>>);
      const query = (
        hasQuery || !isEmpty(call.query) ? checkQuery(querySchema, call.query) : {}
      ) as z.output<Query>;
      const headers = given.headers?.(app, call.rawHeaders) as Headers;
      const { method, url } = given;
      const cacheSeconds = given.isCached
        ? readCacheSeconds(call.rawHeaders, app.config.PLATFORM_WORDS)
        : undefined;
      const handle = async () => {
        const body = readBody(given.body, call.body);
        const cache =
          cacheSeconds === undefined
            ? undefined
            : await cacheRequestOf(cacheSeconds, {
                ...{ method, url, account, body: call.body, headers },
                key: replayKey(),
              });
        // `body` has the type of the schema that parsed it, which `readBody` cannot express. `query` and `headers` by
        // name: copying one more object into the call took as long as all of it.
        const answered = given.handle(app, {
          ...call,
          query,
          headers,
          account,
          reach,
          cache,
          body: body as never,
        });
        return named(answered, { body, query: query as object, rawHeaders: call.rawHeaders });
      };
      if (key === undefined || given.repetition === undefined) return handle();
      const body = await comparableBody(call.body, headerOf(call.rawHeaders, "content-type") ?? "");
      const options = comparableOptions({
        ...{ query, headers, cacheSeconds },
        defaultHeaders: given.headers?.(app, []),
        // Only billed requests have tags.
        tags: given.isAdmitted ? readTagHeaders(call.rawHeaders) : undefined,
      });
      return answerOnce(
        app,
        { ...call, body, options, account, method, url, key, replayKey: replayKey() },
        given.repetition,
        handle,
      );
    },
  };
}

/** The same answer, whose failures, also those of its stream, name fields as the client sent them. */
async function named(
  answering: Promise<Answer>,
  sent: Parameters<typeof withClientField>[1],
): Promise<Answer> {
  const rename = (error: unknown) => {
    throw withClientField(error, sent);
  };
  const answer = await answering.catch(rename);
  return answer.kind === "stream"
    ? { kind: "stream", run: (sink) => answer.run(sink).catch(rename) }
    : answer;
}

/** The list format of every endpoint. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return { object: z.literal("list"), data: z.array(item) };
}

/** A JSON answer. */
export function json(value: unknown, status = 200): Answer {
  return { kind: "json", value, status };
}

function readBody(body: z.ZodType | "bytes" | undefined, bytes: Buffer): unknown {
  if (body === "bytes") return bytes;
  if (body === undefined) return {};
  return checkInput(body, bytes.length === 0 ? undefined : parseJson(bytes));
}

/** Validates a query. A parameter that was sent twice is a list: where one value is expected, that is the fault. */
function checkQuery(schema: z.ZodType, query: unknown): unknown {
  try {
    return checkInput(schema, query, "invalid_parameter");
  } catch (error) {
    if (!(error instanceof AppError) || error.param === null) throw error;
    const { param, message } = error;
    const isTwice = Array.isArray(Object(query)[param]) && message.startsWith(`${param}: must be a`);
    throw isTwice ? new AppError("invalid_parameter", `${param}: was sent twice`, { param }) : error;
  }
}

function isEmpty(query: unknown): boolean {
  for (const _ in query as object) return false;
  return true;
}

/** Rejects unknown parameters, unless the query declares how to handle them. */
function strict(query: z.ZodObject): z.ZodObject {
  return query.def.catchall === undefined ? query.strict() : query;
}
