import { context, propagation, trace } from "@opentelemetry/api";
import { expect, test, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { inSpan } from "../../src/kernel/tracing.ts";
import { startTraces } from "../../src/metrics/trace-export.ts";
import { chat } from "../process/chat.ts";
import { followEvents, followSocket } from "../support/clients/graph-client.ts";
import { type Seeded, seedAccount } from "../support/seed.ts";
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from "../support/servers/trace-collector.ts";
import { useStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

let traces: TraceCollector;

const stack = useStack(async (onEnd) => {
  traces = await startTraceCollector(onEnd);
  // The SDK reads the environment itself.
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", traces.url);
  const end = await startTraces(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: traces.url }), "test", {
    log: createLogger("error"),
    variable: () => undefined,
  });
  onEnd(async () => {
    await end?.();
    vi.unstubAllEnvs();
    for (const api of [trace, context, propagation]) api.disable();
  });
  return {};
});

const SETTLEMENT = /with given as .* as a\(id text, outcome text/;
const EVIDENCE = /insert into request_evidence/;
/** Statements of work that goes on without requests, or is begun by one and done later for many. */
const BACKGROUND =
  /with renewed as \( insert into process_lease|update receipt_draft|from requested a join api_key/;

test("statements of streamed chats on one connection are in the trace of their own chat", async () => {
  const customer = await seedAccount(stack().app.database, 10n ** 18n);
  for (let n = 0; n < 3; n++) await streamChat(customer);
  await untilExported();

  const chats = tracesWith(({ name }) => name === "POST /v1/chat/completions");
  expect(chats).toHaveLength(3);
  for (const spans of chats) {
    expect(spans.filter(hasStatement(SETTLEMENT))).toHaveLength(1);
    expect(spans.filter(hasStatement(EVIDENCE))).toHaveLength(1);
    expectNoLateSpan(spans);
  }
});

test("what requests start and leave behind is in no trace", async () => {
  const { app, origin } = stack();
  const customer = await seedAccount(app.database, 10n ** 18n);
  const { secret } = await app.managementKeys.create(customer.account, "test", ["account:read"]);
  const query = "subscription { balanceChanged { id request { id status } } }";
  const followers = [
    await followEvents(origin, secret, query),
    await followEvents(origin, secret, query),
    await followSocket(origin, secret, query),
  ];
  const [first, ...others] = followers;
  await until(async () => {
    await streamChat(customer);
    return followers.every(({ results }) => results.length > 0);
  });
  await first?.stop();
  const before = others.map(({ results }) => results.length);
  await until(async () => {
    await streamChat(customer);
    return others.every(({ results }, n) => results.length > (before[n] ?? 0));
  });
  for (const other of others) await other.stop();
  const renewals = new Set<string>();
  await until(async () => {
    const [lease] = await app.database.rows<{ at: string }>(
      "select max(expires_at)::text as at from process_lease",
    );
    if (lease) renewals.add(lease.at);
    return renewals.size > 4;
  });
  await untilExported();

  expect(traces.spans.filter(hasStatement(BACKGROUND))).toEqual([]);
  for (const spans of tracesWith(() => true)) expectNoLateSpan(spans);
});

async function streamChat({ secret }: Seeded): Promise<void> {
  const answer = await chat(stack().origin, secret, { stream: true, verify_tee: true });
  expect(await answer.text()).toContain("[DONE]");
}

/** Waits for all spans that have ended by now, which are exported in this order, and for the roots of their traces. */
async function untilExported(): Promise<void> {
  const name = `marker ${traces.spans.length}`;
  await inSpan(name, {}, async () => {});
  await until(() => traces.spans.some((span) => span.name === name) && tracesWith(() => true).every(rootOf));
}

/** The spans of each trace that has such a span. */
function tracesWith(isIt: (span: CollectedSpan) => boolean): readonly (readonly CollectedSpan[])[] {
  const byTrace = Map.groupBy(traces.spans, ({ traceId }) => traceId);
  return [...byTrace.values()].filter((spans) => spans.some(isIt));
}

function rootOf(spans: readonly CollectedSpan[]): CollectedSpan | undefined {
  return spans.find(({ parentSpanId }) => parentSpanId === undefined);
}

function hasStatement(pattern: RegExp): (span: CollectedSpan) => boolean {
  return ({ facts }) => pattern.test(String(facts["db.query.text"]));
}

/** Only the use of the key is recorded after the answer. */
function expectNoLateSpan(spans: readonly CollectedSpan[]): void {
  const endedAt = rootOf(spans)?.endTimeUnixNano ?? 0n;
  const late = spans.filter(({ startTimeUnixNano }) => startTimeUnixNano > endedAt);
  expect(late.filter((span) => !hasStatement(/^update api_key set last_used_at/)(span))).toEqual([]);
}
