import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import type { InferenceRequest } from "../../src/inference/requests/requests.service.ts";
import { routes } from "../../src/rest/routes.ts";
import { balanceAtRest } from "../support/balance.ts";
import { casesOf, type FaultCase, sound } from "../support/inference/fault-cases.ts";
import type { FaultRow } from "../support/inference/fault-row.ts";
import { FAULT_ROWS } from "../support/inference/fault-rows.ts";
import {
  breakOff,
  openStream,
  type Script,
  sendJson,
  trickle,
} from "../support/inference/scripted-provider.ts";
import { useRouter } from "../support/router.ts";
import type { Seeded } from "../support/seed.ts";
import { until } from "../support/until.ts";

/**
 * The fault runner: every misbehaviour of a provider on every billed route. Each request ends once, with the answer, the
 * charge and the attempts that are expected, and the ledger is consistent after all of them.
 */
const TABLE = Object.entries(FAULT_ROWS).map(([name, row], at) => {
  const [url = ""] = /\/v1[a-z/_]*/.exec(name) ?? [];
  const cases = casesOf(row).map((given, n) => ({ ...given, row, url, model: `r${at}-${n}` }));
  const ending = { row, url, model: `r${at}-ends` };
  return { name, cases, ending };
});

/** Billed routes whose providers' faults have a table of their own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "POST /v1/chat/completions": "tests/router/misbehaviour.test.ts",
  "POST /v1/async/images/generations": "tests/jobs/image-jobs.test.ts",
  "POST /v1/async/images/edits": "tests/jobs/image-jobs.test.ts",
};

const MODES = ["whole", "streamed"] as const;
const ENDINGS = ["completed", "cut", "left", "failed"] as const;
const START = 10_000_000n;

type Place = { readonly row: FaultRow; readonly url: string; readonly model: string };

// What is expected of a stream that is not resumed; tests/router/resume.test.ts has those that are.
const router = await useRouter({
  models: [],
  settings: { RESUME_STREAMS: "off" },
  more: (n) =>
    TABLE.flatMap(({ cases, ending: { row, model } }) => {
      const ends = ENDINGS.flatMap((end) => MODES.map((mode) => `${model}-${end}-${mode}`));
      return [...cases.map((given) => given.model), ...ends].map((id) => ({ id, ...row.offer(n) }));
    }),
});

test("every billed route has a row here, or a table of its own", () => {
  const billed = routes.filter(({ isAdmitted }) => isAdmitted).map(({ method, url }) => `${method} ${url}`);
  const rows = Object.keys(FAULT_ROWS).map((name) => name.split(",")[0]);
  expect(new Set([...rows, ...Object.keys(ELSEWHERE)])).toEqual(new Set(billed));
  for (const file of Object.values(ELSEWHERE)) expect(existsSync(file), file).toBe(true);
});

describe.each(TABLE)("$name", ({ cases, ending }) => {
  test.concurrent.each(cases.map((given) => ({ ...given, mode: given.stream ? "streamed" : "whole" })))(
    "a provider that $name, $mode: $expected",
    async (given) => {
      set(given.model, given.script, sound(given.row));
      const seeded = await router().seed(START);
      const reply = await post(seeded, given);
      await requireExpected(given, { reply, text: await reply.text(), request: await requestOf(seeded) });
    },
  );

  const modes = ending.row.stream ? MODES : MODES.slice(0, 1);
  const ends = modes.flatMap((mode) => ENDINGS.map((end) => ({ ...ending, mode, end })));

  test.concurrent.each(ends)("that is $end, $mode, is charged exactly", async ({ mode, end, ...given }) => {
    const { row } = given;
    const place = { ...given, model: `${given.model}-${end}-${mode}`, stream: mode === "streamed" };
    const script = endingScripts(row)[end];
    set(place.model, script, script);
    const seeded = await router().seed(START);
    const leaving = new AbortController();
    const sent = post(seeded, place, leaving.signal);
    if (end === "left") await leave(sent, { place, leaving });
    else await (await sent).text();
    const { status, cost } = await requestOf(seeded);
    const isDelivered = end !== "failed" && place.stream;
    const part = isDelivered ? (row.stream?.cutCost(0) ?? 0n) : 0n;
    expect([status, cost?.total]).toEqual([
      { completed: "completed", cut: "failed", left: "aborted", failed: "failed" }[end],
      end === "completed" ? row.cost(0) : part,
    ]);
  });
});

test("in the end the ledger is consistent and no hold is open", async () => {
  const { faults, openHolds } = await new LedgerService(router().app.database).verify();
  expect({ faults, openHolds }).toEqual({ faults: [], openHolds: 0 });
});

type Outcome = { readonly reply: Response; readonly text: string; readonly request: InferenceRequest };

/** Checks the answer, the charge and the attempts of a request. */
async function requireExpected(
  { row, model, script, stream, expected, calls }: Place & FaultCase,
  { reply, text, request }: Outcome,
): Promise<void> {
  const outcomes = request.routing?.attempts.map(({ outcome }) => outcome);
  const [first = 0, second = 0] = router().scripted.map((provider) => provider.callsOf(model).length);
  expect(script, model).toBeDefined();
  expect(first).toBeLessThanOrEqual(calls);
  const seen = { status: reply.status, end: request.status, cost: request.cost?.total, outcomes, second };
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
      return;
    case "refusal":
      expect(seen, text).toMatchObject({ status: 400, end: "failed", second: 0, cost: 0n });
      expect(reply.headers.get("x-should-retry")).toBe("false");
  }
}

/** A part of the provider's answer that the client must see. */
function markOf({ answer: { body } }: FaultRow): string {
  const [text] = /(?<="(?:content|text|embedding|relevance_score|b64_json)":)[^,}]+/.exec(String(body)) ?? [];
  return text ?? String(body);
}

/** What both providers do for a request to end like this. */
function endingScripts(row: FaultRow): Readonly<Record<(typeof ENDINGS)[number], Script>> {
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
  return {
    completed: sound(row),
    cut: begins(breakOff),
    left: begins(() => {}),
    failed: (_, response) => sendJson(response, 500, { error: { message: "down" } }),
  };
}

/** Leaves once the first two words have arrived or, where the answer is whole, once the provider has been called. */
async function leave(
  sent: Promise<Response>,
  {
    place: { model, stream, row },
    leaving,
  }: { place: Place & { stream: boolean }; leaving: AbortController },
): Promise<void> {
  if (!stream) {
    const lost = expect(sent).rejects.toThrow();
    await until(() => router().scripted[0]?.callsOf(model).length === 1);
    leaving.abort();
    return lost;
  }
  const [, second = ""] = /"(?:content|text|delta)":"( [a-z]+)"/.exec(row.stream?.words[1] ?? "") ?? [];
  const reader = (await sent).body?.getReader();
  let text = "";
  while (!text.includes(`"${second}"`)) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  leaving.abort();
}

function set(model: string, first: Script, second: Script): void {
  for (const [n, script] of [first, second].entries()) router().scripted[n]?.scripts.set(model, script);
}

function post(
  { secret }: Seeded,
  { row: { body, file }, url, model, stream }: Place & { readonly stream: boolean },
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

/** The only request of an account, ended, after checking that its balance is what the request left of it. */
async function requestOf({ account }: Seeded): Promise<InferenceRequest> {
  const { app } = router();
  const request = await until(async () => {
    const { rows } = await app.requests.list(account, { first: 10 });
    expect(rows).toHaveLength(1);
    return rows[0] !== undefined && rows[0].status !== "running" && rows[0];
  });
  const balance = await balanceAtRest(app, account);
  expect(balance).toMatchObject({ held: 0n, total: START - (request.cost?.total ?? 0n) });
  return request;
}
