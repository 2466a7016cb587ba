import type { VariablesOf } from "gql.tada";
import * as z from "zod/mini";
import { listSearch, localTime, parameter } from "../../data/list/list-search.ts";
import { SERVICES } from "../../parts/value/service-names.ts";
import type { REQUESTS } from "./requests-query.ts";

/** How far back the list goes, by the parameter `range`; `custom` is from `from` to `before`. */
export const RANGES = {
  hour: { text: "last hour", ms: 3_600_000 },
  day: { text: "last 24 hours", ms: 86_400_000 },
  week: { text: "last 7 days", ms: 604_800_000 },
  month: { text: "last 30 days", ms: 2_592_000_000 },
  custom: { text: "custom range", ms: undefined },
} as const;

export const STATUSES = ["RUNNING", "COMPLETED", "FAILED", "ABORTED"] as const;
export const VERDICTS = {
  VERIFIED: "verified",
  UNBOUND: "another answer was signed",
  UNSUPPORTED_FORM: "form not supported",
  OTHER_SIGNER: "another signer",
  FORGED: "forged",
  MALFORMED: "malformed",
  MISSING: "missing",
  UNREACHABLE: "did not arrive",
  NOT_ACKNOWLEDGED: "no acknowledged signer",
} as const;

const text = (length: number) => parameter(z.string().check(z.minLength(1), z.maxLength(length)));
const keysOf = <Key extends string>(values: Readonly<Record<Key, unknown>>) =>
  Object.keys(values) as [Key, ...Key[]];
/** An amount of tokens, as it is entered. */
const amount = parameter(z.string().check(z.regex(/^\d{1,12}(?:\.\d{1,18})?$/)));

/** The filters of the list in the URL. One that is not valid is left out. */
export const requestSearch = z.extend(listSearch, {
  status: parameter(z.enum(STATUSES)),
  model: text(256),
  key: text(256),
  provider: parameter(z.string().check(z.regex(/^0x[0-9A-Fa-f]{40}$/))),
  service: parameter(z.enum(keysOf(SERVICES))),
  verdict: parameter(z.enum(keysOf(VERDICTS))),
  error: parameter(z.string().check(z.regex(/^[a-z_]{1,64}$/))),
  id: parameter(z.string().check(z.regex(/^[A-Za-z0-9._:-]{1,64}$/))),
  tag: parameter(z.string().check(z.regex(/^[^=]{1,64}=.{1,512}$/))),
  range: parameter(z.enum(keysOf(RANGES))),
  from: localTime(),
  before: localTime(),
  min: amount,
  max: amount,
});
export type RequestSearch = z.output<typeof requestSearch>;

/** The filters besides the position and the order. */
export const FILTERS = [
  "status",
  "model",
  "key",
  "provider",
  "service",
  "verdict",
  "error",
  "id",
  "tag",
  "range",
  "from",
  "before",
  "min",
  "max",
] as const satisfies readonly (keyof RequestSearch)[];

/** Those that are behind a button. */
export const MORE_FILTERS = ["provider", "service", "verdict", "error", "tag", "min", "max"] as const;

type Variables = Pick<VariablesOf<typeof REQUESTS>, "filter" | "orderBy">;

/**
 * The filter and the order of the query for a search; `now` is when its range was chosen, so that the range of a list does
 * not move while it is read on.
 */
export function variablesOf(
  search: RequestSearch,
  now: number,
  toNeuron: (tokens: string) => string | undefined,
): Variables {
  const { status, model, key, provider, service, verdict, error, id, tag, min, max, sort } = search;
  const createdAt = timesOf(search, now);
  const [least, most] = [min && toNeuron(min), max && toNeuron(max)];
  const equals = tag?.indexOf("=") ?? -1;
  return {
    filter: {
      ...(status && { statuses: [status] }),
      ...(model && { modelId: model }),
      ...(key && { apiKeyId: key }),
      ...(provider && { providerAddress: provider }),
      ...(service && { serviceType: service }),
      ...(verdict && { verdict }),
      // Codes are an enum of the graph: one that it does not know is refused by the server, with a message.
      ...(error && { errorCode: error as never }),
      ...(id && { requestIdPrefix: id }),
      ...(tag && { tag: { name: tag.slice(0, equals), value: tag.slice(equals + 1) } }),
      ...(createdAt && { createdAt }),
      ...((least || most) && { cost: { ...(least && { min: least }), ...(most && { max: most }) } }),
    },
    orderBy:
      sort === "COST" || sort === "-COST" || sort === "CREATED"
        ? { field: sort.replace("-", "") as "COST", direction: sort.startsWith("-") ? "DESC" : "ASC" }
        : null,
  };
}

function timesOf({ range, from, before }: RequestSearch, now: number) {
  if (!range) return undefined;
  const { ms } = RANGES[range];
  if (ms !== undefined) return { from: new Date(now - ms).toISOString() };
  const at = (time: string) => new Date(time).toISOString();
  return from || before
    ? { ...(from && { from: at(from) }), ...(before && { before: at(before) }) }
    : undefined;
}
