import type { AppError, ErrorCode } from "../../src/kernel/errors.ts";

/** Where a failure is in an input, null if it is not one member; and what it says, with the member's name. */
export type InputFault = { readonly field: string | null; readonly message: string };

/** The member that a failure is about, where its code says so: the first of these that was sent. */
const MEMBERS: Partial<Record<ErrorCode, readonly string[]>> = {
  api_key_not_found: ["id"],
  management_key_not_found: ["id"],
  async_job_not_found: ["id"],
  async_job_not_pending: ["id"],
  batch_not_found: ["id"],
  batch_not_cancellable: ["id"],
  webhook_not_found: ["id"],
  tag_budget_not_found: ["id"],
  key_revoked: ["id"],
  file_not_found: ["root", "txSeq"],
  file_pruned: ["root", "txSeq"],
  provider_not_found: ["providerAddress", "routing.provider", "options.provider.address"],
  provider_model_mismatch: ["routing.provider", "options.provider.address"],
  pinned_provider_exceeds_max_price: ["routing.provider", "options.provider.address"],
  no_provider_for_trust_mode: ["routing.trustMode", "options.provider.trust_mode"],
  no_provider_with_evidence: ["routing.evidence", "options.provider.evidence"],
};

/** The members of `routing` for the maximum prices in REST's object `provider`. */
const CAPS: ReadonlyMap<string, string> = new Map([
  ["provider.max_price.prompt", "maxPriceUsdPrompt"],
  ["provider.max_price.completion", "maxPriceUsdCompletion"],
  ["provider.max_price.image", "maxPriceUsdImage"],
]);

/** Members that the request which REST would parse has under another name. */
const RENAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ["input", ["texts", "text"]],
  ["responseFormat", ["format"]],
  ["id", ["deliverableId"]],
  ["models", ["fallbackModels"]],
]);

/**
 * Names a failure as a client of the graph sent it: the member is spelt its way in `field` and in the message. `input`
 * is what the request was built from: the argument `input`, or all arguments of a field without one.
 */
export function faultIn(input: object | undefined, { code, message, param }: AppError): InputFault {
  if (param === null) return { field: input ? memberOf(input, code) : null, message };
  // A body that was built from an input is, as a whole, nothing that the client sent.
  if (param === "body" && input) return { field: null, message };
  const field = pathIn(input, param);
  return { field, message: renamed(message, param, field) };
}

/** The spelling of a member in the graph: requests that are built for REST, and headers, have their own. */
function toFieldName(name: string): string {
  if (name.startsWith("__")) return name;
  const field = name.replace(/[_-]([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return field.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
}

/**
 * The path of a member of the request, through the input. Members may be in `routing` or `tag`, and in an object of any
 * JSON next to the fields: in `options`, behind them, or in `more`, before them. Names within JSON are those that the
 * client wrote.
 */
function pathIn(input: object | undefined, param: string): string {
  const path: string[] = [];
  let value: unknown = input;
  let isJson = false;
  for (const name of withoutProvider(input, param.split("."))) {
    const steps: readonly string[] = isJson ? [name] : stepsOf(value, name);
    isJson ||= steps.length > 1 || (steps[0] !== toFieldName(name) && steps[0] === name);
    path.push(...steps);
    for (const step of steps) value = sent(value, step);
  }
  return path.join(".");
}

/** A path whose member of REST's object `provider` was sent in `routing`, from there: both have the same members. */
function withoutProvider(input: object | undefined, names: readonly string[]): readonly string[] {
  const [first, member = ""] = names;
  const cap = CAPS.get(names.join("."));
  if (cap !== undefined && sent(sent(input, "routing"), cap) != null) return ["routing", cap];
  const isRouting = first === "provider" && sent(sent(input, "routing"), toFieldName(member)) !== undefined;
  return isRouting ? ["routing", ...names.slice(1)] : names;
}

/** Members of inputs whose own members are on the same level in REST. */
const GROUPS = ["routing", "tag"];

function stepsOf(value: unknown, name: string): readonly string[] {
  const field = toFieldName(name);
  const names = [field, ...(RENAMED.get(field) ?? [])];
  const own = names.find((known) => sent(value, known) != null);
  const grouped = GROUPS.flatMap((group) => {
    const member = names.find((known) => sent(sent(value, group), known) != null);
    return member === undefined ? [] : [[group, member]];
  });
  if (sent(sent(value, "more"), name) !== undefined) return ["more", name];
  if (own !== undefined) return [own];
  if (grouped[0]) return grouped[0];
  if (sent(sent(value, "options"), name) !== undefined) return ["options", name];
  return sent(value, name) === undefined ? [field] : [name];
}

function memberOf(input: object, code: ErrorCode): string | null {
  const isSent = (path: string) => path.split(".").reduce<unknown>(sent, input) != null;
  return MEMBERS[code]?.find(isSent) ?? null;
}

/** The member of a value that the client sent; undefined if it has none. */
function sent(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null;
  return isObject && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** A message in which a member has its other name. */
export function renamed(message: string, param: string, field: string): string {
  if (param === field) return message;
  const word = param.replace(/[^\w-]/g, "\\$&");
  return message.replace(new RegExp(`(?<![\\w.])${word}(?![\\w-])`, "g"), () => field);
}
