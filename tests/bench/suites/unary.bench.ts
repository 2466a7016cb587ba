import { chatBody, type Scenario } from "../scenario.ts";

const body = chatBody({ stream: false, maxTokens: 16 });

/** Whole answers: the rate, and the latency added to the provider's own. */
export const unary: readonly Scenario[] = [1, 16, 64].map((connections) => ({
  name: `unary, ${connections} connection${connections > 1 ? "s" : ""}`,
  connections,
  body,
  behaviour: {},
  figures: [
    { label: "requests/s", of: ({ perSecond }) => perSecond, compare: "quotient" },
    { label: "p50 ms", of: ({ p50Ms }) => p50Ms, compare: "added" },
    { label: "p99 ms", of: ({ p99Ms }) => p99Ms, compare: "added" },
  ],
}));
