import secureJson from "secure-json-parse";
import { z } from "zod";
import type { App } from "../app.ts";
import type { ReplayKey } from "../idempotency/replay-key.ts";
import { BODY_LIMITS, measureJson } from "../inference/json-shape.ts";
import { AppError } from "../kernel/errors.ts";
import { type Action, permit, type Reach } from "../keys/permissions.ts";
import type { Principal } from "../keys/principal.ts";
import type { Answer } from "./answer.ts";
import { comparableBody } from "./comparable-body.ts";
import { headerOf } from "./headers.ts";
import { answerOnce, type Repetition } from "./idempotent.ts";

/** Whom a route lets in: everyone, or who is permitted the action that it takes. */
export type Access = "public" | Action;

/** Who calls: the principal as it came, and the account in whose name it passed, empty on a public route. */
export type RouteCall<Query, Body> = {
  readonly principal: Principal;
  readonly account: string;
  /** The objects that the call may touch; none on a public route. */
  readonly reach: Reach;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
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
  readonly summary: string;
  readonly access: Access;
  /** In whose shape failures are told. */
  readonly errors: "openai" | "anthropic" | "storage" | "rpc";
  /** Whether pages of any site may call it: it is of those that look at no credential. */
  readonly isOpenToPages: boolean;
  /** Whether every answer goes through an admission, which judges the key anew. */
  readonly isAdmitted: boolean;
  readonly bodyLimitBytes: number;
  /** Whether its body is a prompt, for which the operator sets the limit (`MAX_PROMPT_MIB`). */
  readonly takesPrompt: boolean;
  /** Whether, and how, a request that comes again with its `Idempotency-Key` is answered without being done again. */
  readonly repetition: Repetition | undefined;
  /** What it reads and answers, as OpenAPI tells it. `bodies` are by media type; `failure` where it is not `ERROR_BODY`. */
  readonly query: z.ZodType;
  readonly bodies: Readonly<Record<string, z.ZodType>>;
  readonly answer: AnswerShape | undefined;
  readonly failure: z.ZodType | undefined;
  run(
    app: App,
    call: Omit<RouteCall<unknown, unknown>, "account" | "reach" | "body"> & {
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
 * media type what it reads.
 */
export function defineRoute<
  Query extends z.ZodType = z.ZodObject,
  Body extends z.ZodType | "bytes" = z.ZodObject,
>(given: {
  method: Route["method"];
  url: Route["url"];
  summary: string;
  access: Access;
  query?: Query;
  body?: Body;
  bodies?: Route["bodies"];
  answer?: AnswerShape;
  failure?: z.ZodType;
  errors?: Route["errors"];
  isOpenToPages?: boolean;
  isAdmitted?: boolean;
  bodyLimitBytes?: number;
  takesPrompt?: boolean;
  repetition?: Repetition;
  handle(
    app: App,
    call: RouteCall<z.output<Query>, Body extends z.ZodType ? z.output<Body> : Buffer>,
  ): Promise<Answer>;
}): Route {
  const query = given.query ?? z.object({});
  return {
    method: given.method,
    url: given.url,
    summary: given.summary,
    access: given.access,
    errors: given.errors ?? "openai",
    isOpenToPages: given.isOpenToPages ?? false,
    isAdmitted: given.isAdmitted ?? false,
    bodyLimitBytes: given.bodyLimitBytes ?? (given.takesPrompt ? PROMPT_BODY_LIMIT : DEFAULT_BODY_LIMIT),
    takesPrompt: given.takesPrompt ?? false,
    repetition: given.repetition,
    query,
    bodies: given.bodies ?? (given.body && given.body !== "bytes" ? { [JSON_TYPE]: given.body } : {}),
    answer: given.answer,
    failure: given.failure,
    async run(app, { idempotencyKey: key, replayKey, ...call }) {
      const reach = given.access === "public" ? NOTHING : permit(call.principal, given.access);
      const { account } = reach;
      const handle = async () =>
        given.handle(app, {
          ...call,
          account,
          reach,
          query: check(query, call.query, "invalid_parameter") as z.output<Query>,
          body: readBody(given.body, call.body) as never,
        });
      if (key === undefined || given.repetition === undefined) return handle();
      const { method, url } = given;
      const body = comparableBody(call.body, headerOf(call.rawHeaders, "content-type") ?? "");
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
  return check(body, bytes.length === 0 ? undefined : parse(bytes), "invalid_body");
}

function parse(bytes: Buffer): unknown {
  const { excess } = measureJson(bytes, BODY_LIMITS);
  if (excess !== undefined) throw new AppError("invalid_body", `The body ${excess}.`, { param: "body" });
  try {
    return secureJson.parse(bytes.toString("utf8"));
  } catch {
    throw new AppError("invalid_body", "The body is not valid JSON.", { param: "body" });
  }
}

function check(schema: z.ZodType, value: unknown, code: "invalid_body" | "invalid_parameter"): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const param = issue?.path.join(".") || "body";
  throw new AppError(code, `${param}: ${issue?.message ?? "malformed"}`, { param });
}
