import type { FaultRow } from "./fault-row.ts";
import { PROVIDER_FAULTS, sendWhole, type WholeAnswer } from "./provider-faults.ts";
import { breakOff, DONE, openStream, type Script, sendJson, trickle } from "./scripted-provider.ts";

/**
 * The expected end when the first of two providers misbehaves: the second answers and is paid; the first is paid by
 * our own count; the request is refused; the delivered part is charged, and an error ends the stream.
 */
type Expected = "the second" | "the first, counted" | "refusal" | "cut";
export type FaultCase = {
  readonly name: string;
  readonly script: Script;
  readonly stream: boolean;
  readonly expected: Expected;
  readonly calls: number;
};

const MIB = 1_048_576;

/** Answers as a working provider of the route does. */
export const sound =
  ({ answer, stream }: FaultRow): Script =>
  (call, response, n) => {
    if (!call.body.stream || !stream) return sendWhole(answer)(call, response, n);
    openStream(response).end([...stream.head, ...stream.words, ...stream.tail].join(""));
  };

/** Sends one byte more than the limit, in white space that JSON permits. */
const endless =
  ({ answer, maxMib }: FaultRow): Script =>
  async (_, response) => {
    response.writeHead(200, { "content-type": answer.contentType });
    await trickle(response, [...Array.from({ length: maxMib }, () => Buffer.alloc(MIB, " ")), answer.body]);
    response.end();
  };

/** Sends the first half of its answer, and then does what `then` does. */
const half =
  ({ contentType, body }: WholeAnswer, then: (response: Parameters<Script>[1]) => unknown): Script =>
  async (_, response) => {
    response.writeHead(200, { "content-type": contentType, "content-length": body.length });
    await trickle(response, [body.slice(0, body.length / 2)]);
    await then(response);
  };

const WRONG_USAGE = (of: (input: unknown, output: unknown) => object) => ({
  none: undefined,
  null: null,
  text: "nine",
  "negative numbers": of(-9, -8),
  "numbers as text": of("9", "8"),
  fractions: of(1.5, 0.5),
  "numbers beyond 2^53": of(2 ** 60, 2 ** 60),
  "more than the request allows": of(100_000_000, 100_000_000),
});

function wholeCases(row: FaultRow): readonly Omit<FaultCase, "stream">[] {
  const second = { expected: "the second", calls: 1 } as const;
  const { usage } = row;
  const wrong = Object.entries(usage ? WRONG_USAGE(usage.of) : {});
  const reasons = { context_length_exceeded: 400, content_policy_violation: 400, invalid_body: 422 };
  return [
    ...PROVIDER_FAULTS.map(({ name, script }) => ({ name, script: script(row.answer), ...second })),
    ...Object.entries(row.invalid).map(([what, answer]) => ({
      name: `answers with ${what}`,
      script: sendWhole(answer),
      ...second,
    })),
    { name: `answers more than ${row.maxMib} MiB`, script: endless(row), ...second },
    { name: "breaks off in the middle of its answer", script: half(row.answer, breakOff), ...second },
    { name: "is silent in the middle of its answer", script: half(row.answer, () => {}), ...second },
    {
      name: "answers events where a whole answer was requested",
      script: (_: unknown, response: Parameters<Script>[1]) =>
        void openStream(response).end('data: {"choices":[]}\n\ndata: [DONE]\n\n'),
      ...second,
    },
    ...wrong.map(([what, value]) => ({
      name: `reports ${what} as its usage`,
      script: sendWhole(usage?.report(value) ?? row.answer),
      expected: "the first, counted" as const,
      calls: 1,
    })),
    ...Object.entries(reasons).map(([code, status]) => ({
      name: `refuses with ${status} ${code}`,
      script: ((_, response) => sendJson(response, status, { error: { message: "no", code } })) as Script,
      expected: "refusal" as const,
      calls: 1,
    })),
  ];
}

function streamedCases(row: FaultRow): readonly Omit<FaultCase, "stream">[] {
  const { stream, answer } = row;
  if (!stream) return [];
  const { head, words, tail, foreign } = stream;
  const sends =
    (
      pieces: readonly string[],
      then: (response: Parameters<Script>[1]) => unknown = (it) => it.end(),
    ): Script =>
    async (_, response) => {
      openStream(response);
      await trickle(response, pieces);
      await then(response);
    };
  const failure = `data: ${JSON.stringify({ type: "error", error: { type: "api_error", message: "overloaded" } })}\n\n`;
  const begun = [...head, ...words.slice(0, 2)];
  const before = { expected: "the second", calls: 1 } as const;
  const after = { expected: "cut", calls: 1 } as const;
  return [
    ...PROVIDER_FAULTS.map(({ name, script }) => ({ name, script: script(answer), ...before })),
    { name: "answers whole where a stream was requested", script: sendWhole(answer), ...before },
    { name: "sends no events", script: sends([]), ...before },
    { name: "sends only the end of a stream", script: sends(tail.slice(-1)), ...before },
    { name: "begins with an error", script: sends([failure]), ...before },
    { name: "begins with broken JSON", script: sends(['data: {"choices":[{"del\n\n', ...words]), ...before },
    { name: "sends the events of another format", script: sends([foreign, foreign, DONE]), ...before },
    { name: "breaks off before its first content", script: sends(head, breakOff), ...before },
    { name: "is silent before its first content", script: sends(head, () => {}), ...before },
    { name: "sends an endless event", script: sends([`data: ${"x".repeat(1_100_000)}`]), ...before },
    { name: "breaks off in mid-stream", script: sends(begun, breakOff), ...after },
    { name: "ends in mid-stream", script: sends(begun), ...after },
    { name: "is silent in mid-stream", script: sends(begun, () => {}), ...after },
    { name: "reports an error in mid-stream", script: sends([...begun, failure]), ...after },
    {
      name: "breaks its JSON in mid-stream",
      script: sends([...begun, 'data: {"cho\n\n', ...tail]),
      ...after,
    },
    {
      name: "switches to another protocol in mid-stream",
      script: sends([...begun, "data: [1]\n\n"]),
      ...after,
    },
    {
      name: "sends an endless event in mid-stream",
      script: sends([...begun, `data: ${"x".repeat(1_100_000)}`]),
      ...after,
    },
  ];
}

/** Every misbehaviour of a provider of the route, whole and, where the route has them, in streams. */
export const casesOf = (row: FaultRow): readonly FaultCase[] => [
  ...wholeCases(row).map((given) => ({ ...given, stream: false })),
  ...streamedCases(row).map((given) => ({ ...given, stream: true })),
];
