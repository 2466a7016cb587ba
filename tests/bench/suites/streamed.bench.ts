import { chatBody, type Figure, type Scenario, SPACED_STREAM } from "../scenario.ts";

const firstByte: Figure = {
  label: "first byte p50 ms",
  of: ({ firstByteP50Ms }) => firstByteP50Ms,
  compare: "added",
};
const events: Figure = {
  label: "events/s",
  of: ({ eventsPerSecond }) => eventsPerSecond,
  compare: "quotient",
};

/** Streamed answers: the time to the first byte, and the throughput of events that are written one by one. */
export const streamed: readonly Scenario[] = [
  ...[1, 16].map((connections) => ({
    name: `stream of 16 tokens, ${connections} connection${connections > 1 ? "s" : ""}`,
    connections,
    body: chatBody({ stream: true, maxTokens: 16 }),
    behaviour: {},
    figures: [firstByte],
  })),
  {
    name: "stream of 64 tokens, 1 ms apart, 16 connections",
    connections: 16,
    ...SPACED_STREAM,
    figures: [events, firstByte],
  },
];
