import { readCursor } from "../../src/chain/watcher/log-watcher.store.ts";
import { hasUnpublished } from "../../src/events/outbox.ts";
import { auditEnd } from "./audit.ts";
import { demand } from "./fault.ts";
import { CONFIRMATIONS, HOLD_SECONDS, TIMING } from "./world/router.ts";
import type { World } from "./world/world.ts";

/** How often something is tried before the state is checked as it is. */
const PATIENCE = 12;
/** More receipts than a run has. */
const MANY = 100_000;
/** The pause between two looks of a sweeper. */
const SWEEP_MS = 5_000;
/** Longer than an allotment of which nothing is used is kept. */
const IDLE_MS = 3_000;
/** Longer than any pause of a provider. */
const MAX_PAUSE_MS = 31_000;
/** Long enough for the leases of dead processes to expire, and then for three attempts. */
const LEASES_MS = 3 * TIMING.leaseSeconds * 1_000;

/** Lets everything end without further faults, and checks the ledger as a whole. */
export async function finish(world: World): Promise<void> {
  world.rpcMood = "good";
  world.busFails = false;
  await world.drain();
  for (let n = 0; n < PATIENCE && (n === 0 || hasChats(world)); n++) await cutAll(world);
  for (let n = 0; n < LEASES_MS / MAX_PAUSE_MS && (await hasJobs(world)); n++) await finishJobs(world);
  for (let n = 0; n <= CONFIRMATIONS; n++) world.chain.mine();
  for (let n = 0; n < PATIENCE && !(await isRead(world)); n++) {
    world.scan(n);
    await world.drain();
  }
  await requireReturned(world);
  world.clock.advance((HOLD_SECONDS + 60) * 1_000);
  for (let round = 0; round < 3; round++) {
    for (const act of [world.sweep, world.beat])
      for (const n of [0, 1]) {
        act.call(world, n);
        await world.drain();
      }
    world.clock.advance(SWEEP_MS);
  }
  for (let n = 0; n < PATIENCE && (await hasUnpublished(world.database)); n++) {
    world.publish(n);
    await world.drain();
  }
  for (let n = 0; n < PATIENCE && (await hasDrafts(world)); n++) {
    world.sequence(n, MANY);
    await world.drain();
  }
  const { books, publishedEvents } = world;
  await auditEnd(world.database, { books, publishedEvents, paidIn: world.chain.paidIn() });
}

/** Processes that live return what they have not used for a while by themselves: no sweep has to find their allotments. */
async function requireReturned(world: World): Promise<void> {
  world.clock.advance(IDLE_MS);
  for (const n of [0, 1, 0, 1]) {
    world.beat(n);
    await world.drain();
  }
  const living = world.routers.map(({ processId }) => processId);
  const idle = await world.database.rows(OPEN_ALLOTMENTS, [JSON.stringify(living)]);
  demand(idle.length === 0, `${idle.length} allotments of living processes are open, and nothing uses them`);
}

/** Breaks all connections to providers, and lets time pass until others are tried. */
async function cutAll({ providers, books, clock, drain }: World): Promise<void> {
  for (const exchange of [...providers.exchanges]) {
    books.chats.get(exchange.subject)?.tryFailed();
    providers.cut(exchange);
  }
  clock.advance(MAX_PAUSE_MS);
  await drain();
}

/** Lets all jobs continue for a while, with providers that work normally. */
async function finishJobs(world: World): Promise<void> {
  world.clock.advance(MAX_PAUSE_MS);
  for (const act of [world.renew, world.work])
    for (const n of [0, 1]) {
      act(n);
      await world.drain();
    }
  for (const exchange of [...world.providers.exchanges]) {
    const job = world.books.jobs.get(exchange.subject);
    if (!job) continue;
    job.made(exchange, job.images);
    world.providers.deliver(exchange, job.images);
  }
  await world.drain();
}

function hasChats({ books }: World): boolean {
  return [...books.chats.values()].some(({ isAnswered, isDisturbed }) => !isAnswered && !isDisturbed);
}

async function hasJobs({ database }: World): Promise<boolean> {
  return (await database.rows(UNFINISHED)).length > 0;
}

async function isRead({ database, chain }: World): Promise<boolean> {
  const cursor = await readCursor(database, "deposits");
  return cursor?.number === BigInt(chain.height);
}

async function hasDrafts({ database }: World): Promise<boolean> {
  return (await database.rows("select 1 from receipt_draft")).length > 0;
}

const OPEN_ALLOTMENTS = `
  select 1 from allotment
  where state = 'open' and process_id::text in (select jsonb_array_elements_text($1::jsonb))`;

const UNFINISHED = "select 1 from job where state in ('pending', 'processing')";
