import "./reflect.ts";
import { registerEnumType } from "type-graphql";
import { type ErrorCode, FAILURES, GRAPHQL_FAILURES, RECORDED_ENDINGS } from "../../../src/kernel/errors.ts";

/** A code of the catalogue, or of the end of a request that no client waited for. */
export type RecordedCode = ErrorCode | keyof typeof RECORDED_ENDINGS;

const meanings: Readonly<Record<RecordedCode, string>> = {
  ...(Object.fromEntries(Object.entries(FAILURES).map(([code, { meaning }]) => [code, meaning])) as Record<
    ErrorCode,
    string
  >),
  ...RECORDED_ENDINGS,
};

const all: Readonly<Record<string, string>> = { ...meanings, ...GRAPHQL_FAILURES };

/** The codes of all failures, spelt as in `extensions.code` and in REST, so that clients compare one spelling. */
export const ErrorCodeType: object = Object.fromEntries(Object.keys(all).map((code) => [code, code]));

registerEnumType(ErrorCodeType, {
  name: "ErrorCode",
  description:
    "Why something failed. The values are spelled as they are sent: in `extensions.code` of an error, in `userErrors`, and as `code` of a REST error. Values in capitals belong to the GraphQL protocol and occur in `extensions.code` only.",
  valuesConfig: Object.fromEntries(Object.entries(all).map(([code, description]) => [code, { description }])),
});

/** The code that was stored with a request or job; one that this version does not know is `internal_error`. */
export function toErrorCode(stored: string | null): RecordedCode | null {
  if (stored === null) return null;
  return Object.hasOwn(meanings, stored) ? (stored as RecordedCode) : "internal_error";
}
