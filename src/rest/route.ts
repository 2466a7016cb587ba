import { z } from "zod";
import type { App } from "../app.ts";
import type { ReplayKey } from "../idempotency/replay-key.ts";
import { parseJson } from "../inference/body/request-fields.ts";
import { checkInput } from "../kernel/check.ts";
import { type Action, permit, type Reach } from "../keys/auth/permissions.ts";
import type { Principal } from "../keys/auth/principal.ts";
import { withClientField } from "./errors/client-field.ts";
import type { Answer } from "./http/answer.ts";
import { comparableBody } from "./http/comparable-body.ts";
import { headerOf } from "./http/headers.ts";
import { answerOnce, type ResumeMatcher } from "./idempotent.ts";
import type { JsonParts } from "./json-parts/json-parts.ts";

/** Who may call a route: everyone, or callers that are permitted its action. */
export type Access = "public" | Action;

/** Who calls: the principal as it came, and the account in whose name it passed, empty on a public route. */
export type RouteCall<Query, Body, Headers = unknown> = {
  readonly principal: Principal;
  readonly account: string;
  /** The objects that the call may touch; none on a public route. */
  readonly reach: Reach;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The JSON body of a route with `readsParts`, in place of `body`. */
  readonly parts: JsonParts;
  /** What the route reads from the headers. */
  readonly headers: Headers;
  /** The path and query as they came, nothing decoded. */
  readonly target: string;
  /** Whether only the head of the answer is asked for. */
  readonly isHead: boolean;
  /** The client's headers as they came: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /** Ours and unique: under this id the request is in the books. */
  readonly requestId: string;
  /** Aborts when the client leaves before its answer. */
  readonly signal: AbortSignal;
  /** Counts more requests against the rate limit of the caller. Throws `rate_limit_exceeded`. */
  count(requests: number): Promise<void>;
  /** Reserves memory until the response is closed, before it is allocated. Throws `overloaded`. */
  reserve(bytes: number): void;
};

/** What a route answers when all went well: JSON, and what else it may answer in its place, by media type. */
export type AnswerShape = {
  readonly status?: number;
  readonly json?: z.ZodType;
  readonly media?: Readonly<Record<string, z.ZodType>>;
};

/** One endpoint as data: the server mounts it, the guard reads `access`, the tests and OpenAPI read all of it. */
export type Route = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly url: `/${string}`;
  /** What the `*` at the end of the URL stands for. */
  readonly wildcard: string;
  readonly summary: string;
  readonly access: Access;
  /** In whose shape failures are told. */
  readonly errors: "openai" | "anthropic" | "storage" | "rpc";
  /** Whether pages of any site may call it: it is of those that look at no credential. */
  readonly allowAnyOrigin: boolean;
  /** Whether every answer goes through an admission, which judges the key anew. */
  readonly isAdmitted: boolean;
  readonly bodyLimitBytes: number;
  /** Whether its JSON body is read in parts, as it may be large: texts up to this length are kept where they are base64. */
  readonly readsParts: { readonly maxTextLength: number } | undefined;
  /** Whether its body is a prompt, for which the operator sets the limit (`MAX_PROMPT_MIB`). */
  readonly takesPrompt: boolean;
  /** Whether, and how, a request that comes again with its `Idempotency-Key` is answered without being done again. */
  readonly repetition: ResumeMatcher | undefined;
  /** What it reads and answers, as OpenAPI tells it. `bodies` are by media type; `failure` where it is not `ERROR_BODY`. */
  readonly query: z.ZodType;
  readonly bodies: Readonly<Record<string, z.ZodType>>;
  readonly answer: AnswerShape | undefined;
  readonly failure: z.ZodType | undefined;
  run(
    app: App,
    call: Omit<RouteCall<unknown, unknown>, "account" | "reach" | "body" | "headers"> & {
      readonly body: Buffer;
      /** The header `Idempotency-Key`. */
      readonly idempotencyKey: string | undefined;
      /** Derived from the credential that was sent, where there is an `Idempotency-Key`. */
      readonly replayKey: ReplayKey | undefined;
    },
  ): Promise<Answer>;
};

const NOTHING: Reach = { account: "" };
const DEFAULT_BODY_LIMIT = 262_144;
/** The default of `MAX_PROMPT_MIB`. */
const PROMPT_BODY_LIMIT = 32 * 1_048_576;
const JSON_TYPE = "application/json";

/**
 * Defines an endpoint. `query` and `body` are checked before `handle` is called, a fault in them is
 * `invalid_parameter` or `invalid_body`; with `body: "bytes"` the handler reads the body itself, and `bodies` says by
 * media type what it reads; a route with `readsParts` has it in `parts`. A parameter that `query` does not name is refused, unless `query` is a loose object.
 * `headers` reads what the route takes from the headers. Query and headers are read before a stored answer is given.
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
  allowAnyOrigin?: boolean;
  isAdmitted?: boolean;
  bodyLimitBytes?: number;
  readsParts?: Route["readsParts"];
  takesPrompt?: boolean;
  repetition?: ResumeMatcher;
  handle(
    app: App,
    call: RouteCall<z.output<Query>, Body extends z.ZodType ? z.output<Body> : Buffer, Headers>,
  ): Promise<Answer>;
}): Route {
  const query = strict(given.query ?? z.object({}));
  return {
    method: given.method,
    url: given.url,
    wildcard: given.wildcard ?? "path",
    summary: given.summary,
    access: given.access,
    errors: given.errors ?? "openai",
    allowAnyOrigin: given.allowAnyOrigin ?? false,
    isAdmitted: given.isAdmitted ?? false,
    bodyLimitBytes: given.bodyLimitBytes ?? (given.takesPrompt ? PROMPT_BODY_LIMIT : DEFAULT_BODY_LIMIT),
    readsParts: given.readsParts,
    takesPrompt: given.takesPrompt ?? false,
    repetition: given.repetition,
    query,
    bodies: given.bodies ?? (given.body && given.body !== "bytes" ? { [JSON_TYPE]: given.body } : {}),
    answer: given.answer,
    failure: given.failure,
    async run(app, { idempotencyKey: key, replayKey, ...call }) {
      const reach = given.access === "public" ? NOTHING : permit(call.principal, given.access);
      const { account } = reach;
      const read = {
        query: checkInput(query, call.query, "invalid_parameter") as z.output<Query>,
        headers: given.headers?.(app, call.rawHeaders) as Headers,
      };
      const handle = async () => {
        const body = readBody(given.body, call.body);
        return given
          .handle(app, { ...call, ...read, account, reach, body: body as never })
          .catch((error: unknown) => {
            throw withClientField(error, body);
          });
      };
      if (key === undefined || given.repetition === undefined) return handle();
      const { method, url } = given;
      const body = await comparableBody(call.body, headerOf(call.rawHeaders, "content-type") ?? "");
      return answerOnce(
        app,
        { ...call, body, account, method, url, key, replayKey },
        given.repetition,
        handle,
      );
    },
  };
}

/** A list as every endpoint answers it. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return { object: z.literal("list"), data: z.array(item) };
}

/** An answer of JSON. */
export function json(value: unknown, status = 200): Answer {
  return { kind: "json", value, status };
}

function readBody(body: z.ZodType | "bytes" | undefined, bytes: Buffer): unknown {
  if (body === "bytes") return bytes;
  if (body === undefined) return {};
  return checkInput(body, bytes.length === 0 ? undefined : parseJson(bytes));
}

/** Unknown parameters are refused, but for a query that says itself what becomes of them. */
function strict(query: z.ZodObject): z.ZodObject {
  return query.def.catchall === undefined ? query.strict() : query;
}
