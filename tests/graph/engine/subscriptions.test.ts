import { type ExecutionResult, parse, validate } from "graphql";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isObject } from "../../../gateway/federation/engine/subgraph-executor.ts";
import { until } from "../../support/until.ts";
import {
  DEAD_URL,
  EXECUTORS,
  type Federation,
  remoteExecutor,
  startFederation,
} from "./support/federation.ts";
import { contexts, type Job, jobSubgraphs } from "./support/jobs.ts";
import { Source } from "./support/sources.ts";

const PROGRESS = parse(`subscription ($id: ID!) {
  event: jobProgress(id: $id) { id percent: progress label provider { address uptime } }
}`);
const eventOf = (id: string, percent: number) => ({
  data: { event: { id, percent, label: `job ${id}`, provider: { address: "0x1", uptime: 0.5 } } },
});

describe.each(EXECUTORS)("subscriptions, %s", (kind) => {
  const jobs = new Source<Job>();
  let federation: Federation;
  beforeAll(async () => {
    federation = await startFederation(jobSubgraphs(jobs), kind);
  });
  afterAll(() => federation.close());

  const open = async (document = PROGRESS, engine = federation.engine, signal?: AbortSignal) => {
    expect(validate(engine.apiSchema, document)).toEqual([]);
    const variables = { id: "1" };
    const stream = await engine.subscribe({ document, variables, context: { user: "ann" }, signal });
    if (!isStream(stream)) throw new Error(JSON.stringify(stream));
    return stream;
  };
  const opened = async (...args: Parameters<typeof open>) => {
    await until(() => jobs.open === 0);
    const stream = await open(...args);
    await until(() => jobs.open === 1);
    return stream;
  };

  test("every event is completed by other subgraphs, in order, and the end is passed on", async () => {
    const stream = await opened();
    for (const progress of [1, 2, 3]) jobs.push({ id: "1", progress });
    for (const progress of [1, 2, 3]) {
      expect(plain(await stream.next())).toEqual({ done: false, value: eventOf("1", progress) });
    }
    jobs.end();
    expect((await stream.next()).done).toBe(true);
  });

  test("each event is resolved in its own request scope", async () => {
    contexts.length = 0;
    const stream = await opened();
    for (const progress of [1, 2]) {
      jobs.push({ id: "1", progress });
      await stream.next();
    }
    await stream.return?.();
    expect(new Set(contexts).size).toBe(2);
  });

  test("the source receives the principal of its subscriber", async () => {
    const stream = await opened(parse("subscription { mine }"));
    jobs.push({ id: "7", progress: 0 });
    expect(plain(await stream.next()).value).toEqual({ data: { mine: "7 of ann" } });
    await stream.return?.();
  });

  test("return() ends a waiting stream at once, and closes the source", async () => {
    const stream = await opened();
    const waiting = stream.next();
    await stream.return?.();
    expect((await waiting).done).toBe(true);
    expect((await stream.next()).done).toBe(true);
    await until(() => jobs.open === 0);
  });

  test("the request's signal ends it too", async () => {
    const abort = new AbortController();
    const stream = await opened(PROGRESS, federation.engine, abort.signal);
    const waiting = stream.next();
    abort.abort();
    expect((await waiting).done).toBe(true);
    await until(() => jobs.open === 0);
  });

  test("a signal that aborts while the source opens ends it too", async () => {
    await until(() => jobs.open === 0);
    const abort = new AbortController();
    const opening = open(PROGRESS, federation.engine, abort.signal);
    abort.abort();
    const stream = await opening.catch(() => undefined);
    expect((await stream?.next())?.done ?? true).toBe(true);
    await until(() => jobs.open === 0);
  });

  test("a broken source throws: the stream never just ends", async () => {
    const stream = await opened();
    const waiting = stream.next();
    jobs.fail(new Error("the bus is gone"));
    await expect(waiting).rejects.toMatchObject({
      message: "The jobs subgraph cannot be reached.",
      extensions: { code: "unavailable" },
    });
    expect((await stream.next()).done).toBe(true);
  });

  test("a failed subgraph costs each event only its fields", async () => {
    const stream = await opened(PROGRESS, federation.without("providers"));
    jobs.push({ id: "1", progress: 5 });
    const { value } = plain(await stream.next());
    expect(value.data.event).toMatchObject({ percent: 5, provider: { address: "0x1", uptime: null } });
    expect(value.errors).toMatchObject([
      { path: ["event", "provider"], extensions: { code: "unavailable" } },
    ]);
    await stream.return?.();
  });

  test("a source that refuses gives the reason", async () => {
    const document = parse("subscription { refused { id } }");
    const result = await federation.engine.subscribe({ document, context: { user: "ann" } });
    const first = isStream(result) ? (await result.next()).value : result;
    expect(plain(first).errors).toMatchObject([
      { message: "Not yours.", extensions: { code: "insufficient_scope" } },
    ]);
  });

  test("an unreachable source is an error, not an empty stream", async () => {
    const engine = federation.without("jobs");
    const result = await engine.subscribe({
      document: PROGRESS,
      variables: { id: "1" },
      context: { user: "a" },
    });
    const failure = isStream(result) ? result.next() : Promise.reject(result.errors?.[0]);
    await expect(failure).rejects.toMatchObject({ extensions: { code: "unavailable" } });
  });

  test("operations are sent to the matching method", async () => {
    const context = { user: "ann" };
    const wrong = await federation.engine.execute({ document: PROGRESS, variables: { id: "1" }, context });
    expect(wrong.errors).toMatchObject([{ extensions: { code: "graphql_refused" } }]);
    const query = parse(`{ job(id: "1") { id } }`);
    const refused = await federation.engine.subscribe({ document: query, context });
    expect(refused).toMatchObject({ errors: [{ extensions: { code: "graphql_refused" } }] });
  });
});

test("a principal that the subgraph does not accept gets no stream", async () => {
  const jobs = new Source<Job>();
  const federation = await startFederation(jobSubgraphs(jobs), "remote");
  const request = { document: parse("subscription { mine }"), context: { user: "nobody" } };
  const stream = await federation.engine.subscribe(request);
  if (!isStream(stream)) throw new Error("no stream");
  await expect(stream.next()).rejects.toMatchObject({ extensions: { code: "unavailable" } });
  expect(jobs.open).toBe(0);
  await federation.close();
});

test("a variable with the name that a resumed subscription adds keeps its value", async () => {
  const news = new Source<{ topic: string; cursor: string }>();
  const opened: object[] = [];
  const one = {
    sdl: `type Query { x: Int } type News { topic: String! cursor: String! }
      type Subscription { news(topic: String, after: String): News! }`,
    resolvers: {
      Subscription: {
        news: {
          subscribe: (_: unknown, args: object) => {
            opened.push({ ...args });
            return news.subscribe();
          },
          resolve: (event: object) => event,
        },
      },
    },
  };
  const federation = await startFederation({ one }, "local");
  const stream = await federation.engine.subscribe({
    document: parse("subscription ($_after: String) { news(topic: $_after) { topic } }"),
    variables: { _after: "chain" },
    context: { user: "ann" },
  });
  if (!isStream(stream)) throw new Error(JSON.stringify(stream));
  expect(opened).toMatchObject([{ topic: "chain" }]);
  await stream.return?.();
  await federation.close();
});

test("an executor for a dead URL reports an error, and leaves nothing open", async () => {
  const executor = remoteExecutor(DEAD_URL);
  const request = { text: "subscription { x }", document: parse("{ x }"), variables: {}, scope: {} };
  const stream = await executor.subscribe({ ...request, context: { user: "a" }, signal: undefined });
  await expect("next" in stream ? stream.next() : undefined).rejects.toThrow("ECONNREFUSED");
  await executor.close();
});

function isStream(
  value: AsyncIterableIterator<ExecutionResult> | ExecutionResult,
): value is AsyncIterableIterator<ExecutionResult> {
  return isObject(value) && Symbol.asyncIterator in value;
}

/** What a client reads. */
function plain(value: unknown): ReturnType<typeof JSON.parse> {
  return JSON.parse(JSON.stringify(value));
}
