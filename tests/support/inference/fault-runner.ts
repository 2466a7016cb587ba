import { describe, expect, test } from "vitest";
import { LedgerService } from "../../../src/accounts/ledger.service.ts";
import type { InferenceRequest } from "../../../src/inference/requests/requests.service.ts";
import { balanceAtRest } from "../balance.ts";
import { BatchClient, inputOf } from "../batches/batch-world.ts";
import { useRouter } from "../router.ts";
import type { Seeded } from "../seed.ts";
import { until } from "../until.ts";
import { casesOf, type FaultCase, sound } from "./fault-cases.ts";
import type { FaultRow } from "./fault-row.ts";
import { breakOff, openStream, type Script, sendJson, trickle } from "./scripted-provider.ts";

const MODES = ["whole", "streamed"] as const;
/** How the requests of each kind of route may end, and the states of the requests that are recorded for it then. */
const ENDINGS = {
  live: { completed: ["completed"], cut: ["failed"], left: ["aborted"], failed: ["failed"] },
  // A line that its providers failed is sent once more. One that was sent when its batch is cancelled is answered.
  line: {
    completed: ["completed"],
    cut: ["failed", "failed"],
    cancelled: ["completed"],
    failed: ["failed", "failed"],
  },
} as const;
const endingsOf = ({ lineOf }: FaultRow) => (lineOf ? ENDINGS.line : ENDINGS.live);
const START = 10_000_000n;

type Sendable = Place & { readonly stream: boolean };
type Place = { readonly row: FaultRow; readonly url: string; readonly model: string };

let router: Awaited<ReturnType<typeof useRouter>>;

/**
 * The fault runner: every misbehaviour of a provider on every billed route. Each request ends once, with the answer, the
 * charge and the attempts that are expected, and the ledger is consistent after all of them. A request in a batch is its
 * only line, and is answered in one of its files.
 */
export async function testFaults(rows: Readonly<Record<string, FaultRow>>): Promise<void> {
  const table = Object.entries(rows).map(([name, row], at) => {
    const [route = ""] = /\/v1[a-z/_]*/.exec(name) ?? [];
    const url = row.lineOf ?? route;
    const cases = casesOf(row).map((given, n) => ({ ...given, row, url, model: `r${at}-${n}` }));
    const ending = { row, url, model: `r${at}-ends` };
    return { name, cases, ending };
  });
  // What is expected of a stream that is not resumed; tests/router/streams/resume.test.ts has those that are.
  router = await useRouter({
    models: [],
    settings: { RESUME_STREAMS: "off", BATCH_LINES_PARALLEL: "32" },
    more: (n) =>
      table.flatMap(({ cases, ending: { row, model } }) => {
        const ends = Object.keys(endingsOf(row)).flatMap((end) =>
          MODES.map((mode) => `${model}-${end}-${mode}`),
        );
        return [...cases.map((given) => given.model), ...ends].map((id) => ({ id, ...row.offer(n) }));
      }),
  });

  describe.each(table)("$name", ({ cases, ending }) => {
    test.concurrent.each(cases.map((given) => ({ ...given, mode: given.stream ? "streamed" : "whole" })))(
      "a provider that $name, $mode: $expected",
      async (given) => {
        set(given.model, given.script, sound(given.row));
        const seeded = await router().seed(START);
        const reply = await send(seeded, given);
        const [request] = await requestsOf(seeded, 1);
        await requireExpected(given, { ...reply, request });
      },
    );

    const modes = ending.row.stream ? MODES : MODES.slice(0, 1);
    const ends = modes.flatMap((mode) =>
      Object.entries(endingsOf(ending.row)).map(([end, statuses]) => ({ ...ending, mode, end, statuses })),
    );

    test.concurrent.each(ends)("that is $end, $mode, is charged exactly", async ({ mode, end, ...given }) => {
      const { row, statuses } = given;
      const place = { ...given, model: `${given.model}-${end}-${mode}`, stream: mode === "streamed" };
      const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
      const script = endingScript(row, end, goesOn);
      set(place.model, script, script);
      const seeded = await router().seed(START);
      if (end === "left") await leave(seeded, place);
      else if (end === "cancelled") await cancel(seeded, place, goOn);
      else await send(seeded, place);
      const requests = await requestsOf(seeded, statuses.length);
      const isDelivered = end !== "failed" && place.stream;
      const part = isDelivered ? (row.stream?.cutCost(0) ?? 0n) : 0n;
      expect([requests.map(({ status }) => status), costOf(requests)]).toEqual([
        statuses,
        statuses[0] === "completed" ? row.cost(0) : part,
      ]);
    });
  });

  test("in the end the ledger is consistent and no hold is open", async () => {
    const { faults, openHolds } = await new LedgerService(router().app.database).verify();
    expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
  });
}

/** What a client is answered. The answer to a line has no headers, so `shouldRetry` is undefined. */
type Reply = { readonly status: number; readonly text: string; readonly shouldRetry?: string | null };
type Outcome = Reply & { readonly request: InferenceRequest };

/** Checks the answer, the charge and the attempts of a request. */
async function requireExpected(
  { row, model, script, stream, expected, calls }: Place & FaultCase,
  { status, text, shouldRetry, request }: Outcome,
): Promise<void> {
  const outcomes = request.routing?.attempts.map(({ outcome }) => outcome);
  const [first = 0, second = 0] = router().scripted.map((provider) => provider.callsOf(model).length);
  expect(script, model).toBeDefined();
  expect(first).toBeLessThanOrEqual(calls);
  const seen = { status, end: request.status, cost: request.cost?.total, outcomes, second };
  const ended = { status: 200, end: "completed", second: 1, outcomes: ["failed", "answered"] };
  switch (expected) {
    case "the second":
      expect(seen, text).toEqual({ ...ended, cost: row.cost(1) });
      expect(text).toContain(
        stream ? (row.stream?.tail.at(-1) ?? "").trim().split("\n").at(-1) : markOf(row),
      );
      return;
    case "the first, counted":
      expect(seen, text).toEqual({
        ...ended,
        second: 0,
        outcomes: ["answered"],
        cost: row.usage?.counted(0),
      });
      expect(request.usageEstimated).toBe(true);
      return;
    case "cut":
      expect(seen, text).toEqual({
        ...{ status: 200, end: "failed", second: 0, outcomes: ["failed"] },
        cost: row.stream?.cutCost(0),
      });
      expect(text).toContain("upstream_error");
      // The client learns what the part that it has was charged.
      expect(text).toContain(`"total_cost":"${row.stream?.cutCost(0)}"`);
      return;
    case "refusal":
      expect(seen, text).toMatchObject({ status: 400, end: "failed", second: 0, cost: 0n });
      if (!row.lineOf) expect(shouldRetry).toBe("false");
  }
}

/** A part of the provider's answer that the client must see. */
function markOf({ answer: { body } }: FaultRow): string {
  const [text] = /(?<="(?:content|text|embedding|relevance_score|b64_json)":)[^,}]+/.exec(String(body)) ?? [];
  return text ?? String(body);
}

/** What both providers do for a request to end like this; one that is `cancelled` is answered once `goesOn` resolves. */
function endingScript(row: FaultRow, end: string, goesOn: Promise<void>): Script {
  const begins =
    (then: (response: Parameters<Script>[1]) => unknown): Script =>
    async (call, response) => {
      if (call.body.stream) {
        openStream(response);
        await trickle(response, [...(row.stream?.head ?? []), ...(row.stream?.words.slice(0, 2) ?? [])]);
      } else {
        response.writeHead(200, { "content-type": row.answer.contentType, "content-length": 500_000 });
        await trickle(response, [row.answer.body]);
      }
      await then(response);
    };
  const scripts: Readonly<Record<string, Script>> = {
    completed: sound(row),
    cut: begins(breakOff),
    left: begins(() => {}),
    cancelled: (...call) => goesOn.then(() => sound(row)(...call)),
    failed: (_, response) => sendJson(response, 500, { error: { message: "down" } }),
  };
  const script = scripts[end];
  if (!script) throw new Error(`no script ends a request as ${end}`);
  return script;
}

/** Leaves once the first two words have arrived or, where the answer is whole, once the provider has been called. */
async function leave(seeded: Seeded, place: Sendable): Promise<void> {
  const { model, stream, row } = place;
  const leaving = new AbortController();
  const sent = post(seeded, place, leaving.signal);
  if (!stream) {
    const lost = expect(sent).rejects.toThrow();
    await called(model);
    leaving.abort();
    return lost;
  }
  const [, second = ""] = /"(?:content|text|delta)":"( [a-z]+)"/.exec(row.stream?.words[1] ?? "") ?? [];
  const reader = (await sent).body?.getReader();
  let text = "";
  while (!text.includes(`"${second}"`)) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  leaving.abort();
}

/** Cancels the batch once the provider has been called, which is answered only then. */
async function cancel(seeded: Seeded, place: Sendable, goOn: () => void): Promise<void> {
  const client = new BatchClient(router(), seeded);
  const { id } = await startBatch(client, place);
  await called(place.model);
  expect((await client.openai.batches.cancel(id)).status).toBe("cancelling");
  goOn();
  expect(await client.ended(id)).toMatchObject({ status: "cancelled", request_counts: { completed: 1 } });
}

function called(model: string): Promise<true> {
  return until(() => router().scripted[0]?.callsOf(model).length === 1);
}

function set(model: string, first: Script, second: Script): void {
  for (const [n, script] of [first, second].entries()) router().scripted[n]?.scripts.set(model, script);
}

/** Sends a request, and waits for its answer. */
async function send(seeded: Seeded, place: Sendable): Promise<Reply> {
  if (place.row.lineOf) {
    const client = new BatchClient(router(), seeded);
    const { output_file_id, error_file_id } = await client.ended((await startBatch(client, place)).id);
    const [line, ...more] = [...(await client.lines(output_file_id)), ...(await client.lines(error_file_id))];
    expect([line?.custom_id, more]).toEqual(["line", []]);
    return { status: line?.response?.status_code ?? 0, text: JSON.stringify(line?.response?.body) };
  }
  const reply = await post(seeded, place);
  const { status, headers } = reply;
  return { status, text: await reply.text(), shouldRetry: headers.get("x-should-retry") };
}

/** Starts a batch that consists of this request. */
function startBatch(client: BatchClient, { row, url, model }: Place) {
  const line = { custom_id: "line", method: "POST", url, body: { model, ...row.body } };
  return client.start(inputOf([line]), row.lineOf);
}

function post(
  { secret }: Seeded,
  { row: { body, file }, url, model, stream }: Sendable,
  signal?: AbortSignal,
): Promise<Response> {
  const authorization = `Bearer ${secret}`;
  const fields = { model, ...body };
  const common = { method: "POST", ...(signal && { signal }) };
  if (!file)
    return fetch(router().origin + url, {
      ...common,
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ ...fields, ...(stream && { stream }) }),
    });
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value));
  form.set(file.name, new Blob([new Uint8Array(file.bytes)]), file.name);
  return fetch(router().origin + url, { ...common, headers: { authorization }, body: form });
}

/** The requests of an account, all ended, after checking that its balance is what they left of it. */
async function requestsOf(
  { account }: Seeded,
  count: number,
): Promise<readonly [InferenceRequest, ...InferenceRequest[]]> {
  const { app } = router();
  const requests = await until(async () => {
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(count);
    return rows.every(({ status }) => status !== "running") && rows;
  });
  const balance = await balanceAtRest(app, account);
  expect(balance).toMatchObject({ held: 0n, total: START - costOf(requests) });
  return requests as [InferenceRequest, ...InferenceRequest[]];
}

function costOf(requests: readonly InferenceRequest[]): bigint {
  return requests.reduce((sum, { cost }) => sum + (cost?.total ?? 0n), 0n);
}
