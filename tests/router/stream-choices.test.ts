import { expect, test } from "vitest";
import { LedgerService } from "../../src/accounts/ledger.service.ts";
import { useRouter } from "../support/router.ts";
import {
  breakOff,
  DONE,
  event,
  openStream,
  type Script,
  trickle,
  USAGE,
  USAGE_CHUNK,
} from "../support/scripted-provider.ts";

const CUTS = ["closed", "reset", "done"] as const;
const USAGES = ["finish", "every", "null", "both", "none"] as const;
const router = await useRouter({
  models: [...CUTS, ...USAGES, "late"],
  count: 1,
  settings: { RESUME_STREAMS: "off" },
});

const piece = (index: number, content: string) => event({ index, delta: { content } });
const finish = (index: number, fields = {}) => event({ index, delta: {}, finish_reason: "stop" }, fields);

async function ask(model: string, script: Script, body: object = {}): Promise<string> {
  router().scripted[0]?.scripts.set(model, script);
  const reply = await router().chat(await router().seed(), { model, max_tokens: 50, stream: true, ...body });
  expect(reply.status).toBe(200);
  return reply.text();
}

const ENDS: Readonly<Record<(typeof CUTS)[number], (response: Parameters<Script>[1]) => unknown>> = {
  closed: (response) => response.end(),
  reset: breakOff,
  done: (response) => response.end(DONE),
};

test.each(CUTS)(
  "of two choices one ends and the stream is %s: it fails, and is not shown as whole",
  async (model) => {
    const script: Script = async (_, response) => {
      openStream(response);
      await trickle(response, [piece(0, "a"), finish(0)]);
      await ENDS[model](response);
    };
    const text = await ask(model, script, { n: 2 });
    expect(text).toMatch(/data: \{"error":\{.*"code":"upstream_error".*\}\n\n$/);
    expect(text).not.toContain(DONE);
  },
);

test("a second choice that begins late is waited for", async () => {
  const script: Script = async (_, response) => {
    openStream(response);
    await trickle(response, [piece(0, "a"), finish(0), USAGE_CHUNK]);
    await new Promise((done) => setTimeout(done, 1_000));
    response.end(piece(1, "b") + finish(1) + USAGE_CHUNK + DONE);
  };
  const text = await ask("late", script, { n: 2 });
  expect(text).toContain('"b"');
  expect(text.endsWith(DONE)).toBe(true);
});

const usage = { usage: USAGE };
const STREAMS: Readonly<Record<(typeof USAGES)[number], readonly string[]>> = {
  finish: [piece(0, "a"), finish(0, usage)],
  every: [
    event({ delta: { role: "assistant", content: "" } }, usage),
    event({ delta: { content: "a" } }, usage),
    finish(0, usage),
    USAGE_CHUNK,
  ],
  null: [event({ delta: { content: "a" } }, { usage: null }), finish(0, { usage: null }), USAGE_CHUNK],
  both: [piece(0, "a"), finish(0, usage), USAGE_CHUNK, USAGE_CHUNK],
  none: [piece(0, "a"), finish(0)],
};

test.each(USAGES.flatMap((model) => [true, false].map((isAsked) => ({ model, isAsked }))))(
  "usage stated as $model, asked for: $isAsked: the client gets one usage if it asked, else none",
  async ({ model, isAsked }) => {
    const script: Script = (_, response) => void openStream(response).end(STREAMS[model].join("") + DONE);
    const options = isAsked ? { stream_options: { include_usage: true } } : {};
    const text = await ask(model, script, options);
    const chunks = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data ?? ""));
    const stated = chunks.filter((chunk) => chunk.usage);
    expect(stated).toHaveLength(isAsked ? 1 : 0);
    if (isAsked) {
      expect(chunks.at(-1)).toBe(stated[0]);
      expect(stated[0].choices).toEqual([]);
      if (model !== "none") expect(stated[0].usage).toMatchObject(USAGE);
    }
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("")).toBe("a");
  },
);

test("after all of that the books are exact, and nothing is held", async () => {
  expect(await new LedgerService(router().app.database).verify()).toMatchObject({ faults: [], openHolds: 0 });
});
