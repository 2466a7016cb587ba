import { once } from "node:events";
import { WebSocket } from "ws";
import { until } from "../../support/until.ts";
import type { Child } from "../child.ts";
import { type GraphPace, median } from "../graph-compete.ts";
import { askChild } from "../peers/graph/dialogue.ts";
import { cpuOf } from "../processes.ts";

const CLIENTS = 1_000;
const EVENTS = 25;
const OPENING_AT_ONCE = 50;
const PATIENCE_MS = 60_000;
const SUBSCRIBE = JSON.stringify({
  id: "1",
  type: "subscribe",
  payload: { query: "subscription { ticked { n text at } }" },
});

type Measured = { readonly perSecond: number; readonly cpuUs: number };
type Listeners = { readonly child: Child; readonly count: () => number };

/** Events to 1,000 clients, each with its own socket, through each of the servers in turn. Markdown. */
export async function compareStreams(
  servers: Readonly<Record<string, Child>>,
  { rounds }: GraphPace,
): Promise<string> {
  const measured = new Map<string, Measured[]>();
  const listening = new Map<string, Listeners>();
  for (const [name, child] of Object.entries(servers)) listening.set(name, await openListeners(child));
  for (let round = 0; round <= rounds; round++)
    for (const [name, listeners] of listening) {
      const result = await publish(listeners);
      // The first round warms up.
      if (round > 0) measured.set(name, [...(measured.get(name) ?? []), result]);
    }
  const [ours = []] = measured.values();
  const lines = [...measured].map(([name, theirs]) => {
    const ratio = (of: (mine: Measured, other: Measured) => number) =>
      median(theirs.flatMap((other, round) => (ours[round] ? of(ours[round], other) : []))).toFixed(2);
    return `| ${[
      name,
      median(theirs.map(({ perSecond }) => perSecond)).toFixed(0),
      ratio((mine, other) => mine.perSecond / other.perSecond),
      median(theirs.map(({ cpuUs }) => cpuUs)).toFixed(1),
      ratio((mine, other) => other.cpuUs / mine.cpuUs),
    ].join(" | ")} |`;
  });
  return [
    `\n**events to ${CLIENTS} clients over WebSocket**\n`,
    "|  | deliveries/s | zerograph is better by x | CPU us a delivery | zerograph is better by x |",
    "| --- | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

async function openListeners(child: Child): Promise<Listeners> {
  let received = 0;
  const open = async () => {
    const socket = new WebSocket(`${child.origin.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    socket.on("message", (data: Buffer) => {
      // No event is parsed: the clients must not be what is measured.
      if (data.includes('"next"')) received += 1;
      else if (data.includes('"connection_ack"')) socket.send(SUBSCRIBE);
      else if (data.includes('"ping"')) socket.send('{"type":"pong"}');
    });
    await once(socket, "open");
    socket.send('{"type":"connection_init"}');
  };
  for (let n = 0; n < CLIENTS; n += OPENING_AT_ONCE)
    await Promise.all(Array.from({ length: OPENING_AT_ONCE }, open));
  // All clients are subscribed when one event reaches every one of them.
  await until(async () => {
    received = 0;
    await askChild(child, { publish: 1 });
    await until(() => received === CLIENTS, 2_000).catch(() => undefined);
    return received === CLIENTS;
  }, PATIENCE_MS);
  return { child, count: () => received };
}

async function publish({ child, count }: Listeners): Promise<Measured> {
  const pid = child.process.pid ?? 0;
  const [before, cpuBefore, startedMs] = [count(), cpuOf(pid), performance.now()];
  await askChild(child, { publish: EVENTS });
  const wanted = EVENTS * CLIENTS;
  await until(() => count() - before === wanted, PATIENCE_MS);
  const seconds = (performance.now() - startedMs) / 1_000;
  return { perSecond: wanted / seconds, cpuUs: ((cpuOf(pid) - cpuBefore) * 1_000) / wanted };
}
