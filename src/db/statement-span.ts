import type { SpanOptions } from "../kernel/tracing.ts";

/** Only inside a request: the periodic queries of processes would drown out everything else. */
export const IN_DATABASE: SpanOptions = {
  kind: "client",
  onlyInside: true,
  facts: () => ({ "db.system.name": "postgresql" }),
};
const MAX_TEXT_LENGTH = 1_000;

/** The statement text is safe to trace: it is a constant, with its values separate. */
export function statementSpan(sql: string): [string, SpanOptions] {
  const text = sql.replaceAll(/\s+/g, " ").trim();
  const operation = /^\w+/.exec(text)?.[0].toUpperCase() ?? "SQL";
  const facts = () => ({
    "db.system.name": "postgresql",
    "db.operation.name": operation,
    "db.query.text": text.slice(0, MAX_TEXT_LENGTH),
  });
  return [operation, { ...IN_DATABASE, facts }];
}
