import { expect, test } from "vitest";
import { statusPage } from "../../../gateway/pages/status-page.ts";
import type { Status } from "../../../src/operations/status.service.ts";

const ASOF = new Date("2026-11-26T12:30:00Z");
const HOSTILE = `<script>alert("x")</script>'&`;
const NONE = { uptime: undefined, latency: undefined };

function statusOf(more: Partial<Status>): Status {
  return { asOf: ASOF, state: "operational", models: [], unlistedModels: 0, incidents: [], ...more };
}

test("names that anyone may choose are shown as text, and shortened", () => {
  const page = statusPage(
    statusOf({
      models: [
        {
          ...{ id: HOSTILE, serviceType: "chatbot", state: "operational", days: [], ...NONE },
          providers: [{ address: HOSTILE, state: "operational", ...NONE }],
        },
        {
          ...{ id: "n".repeat(100_000), serviceType: "chatbot", state: "operational", days: [], ...NONE },
          providers: [],
        },
      ],
      incidents: [
        {
          ...{ provider: HOSTILE, model: HOSTILE, startedAt: ASOF, endedAt: null },
          failedShare: undefined,
        },
      ],
    }),
    "n0nce",
  );
  expect(page).not.toContain("<script");
  expect(page).not.toContain('alert("x")');
  expect(page).toContain("&#60;script&#62;");
  expect(page).toContain("Ongoing");
  expect(page.length).toBeLessThan(12_000);
});

test("the page says what it shows in words: the state, uptime rounded down, days and incidents", () => {
  const days = Array.from({ length: 30 }, (_, n) => ({
    startsAt: new Date(ASOF.getTime() - (29 - n) * 86_400_000),
    uptime: n === 3 ? 0.5 : n === 4 ? 0.99 : n < 3 ? undefined : 1,
  }));
  const page = statusPage(
    statusOf({
      state: "degraded",
      models: [
        {
          ...{ id: "sea", serviceType: "chatbot", state: "degraded", days, uptime: 0.999_99 },
          latency: { p50Ms: 120.4, p95Ms: 2_345 },
          providers: [{ address: "0xa", state: "unavailable", ...NONE }],
        },
      ],
      unlistedModels: 7,
      incidents: [
        {
          ...{ provider: "0xa", model: "sea", startedAt: ASOF, endedAt: new Date("2026-11-26T13:00:00Z") },
          failedShare: 0.756,
        },
      ],
    }),
    "n0nce",
  );
  for (const text of [
    "Some providers are unavailable",
    "99.99 % uptime",
    "sea: the last 30 days, 1 bad day",
    "Latency 120 ms, 95 % within 2.3 s",
    "1 provider<",
    "7 more models",
    "76 % of requests failed",
    "2026-11-26 13:00",
    '<style nonce="n0nce">',
  ])
    expect(page).toContain(text);
  expect(statusPage(statusOf({}), "n")).toContain("No models are offered yet");
});
