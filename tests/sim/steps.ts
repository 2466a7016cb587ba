import fc from "fast-check";
import { RPC_MOODS } from "./world/chain.ts";
import type { SimChat } from "./world/chat.ts";
import type { SimExchange, StatedUsage } from "./world/provider.ts";
import { quiet, type World } from "./world/world.ts";

/** The progress of a run: the steps taken, for the report of a failure. */
export type Progress = { steps: number; readonly recent: string[] };

type Act = (world: World, a: number, b: number) => void | Promise<void>;

/**
 * One step of a run, as a command of fast-check: its kind, and two numbers that select its subject and its
 * variant. A step that does not apply does nothing, or lets the database continue instead.
 */
export class Step implements fc.AsyncCommand<Progress, World> {
  readonly #kind: Kind;
  readonly #a: number;
  readonly #b: number;

  constructor(kind: Kind, a: number, b: number) {
    this.#kind = kind;
    this.#a = a;
    this.#b = b;
  }

  check(): boolean {
    return true;
  }

  async run(progress: Progress, world: World): Promise<void> {
    progress.steps++;
    progress.recent.push(this.toString());
    if (progress.recent.length > RECENT) progress.recent.shift();
    await ACTS[this.#kind].act(world, this.#a, this.#b);
    await quiet();
    world.check();
    if (progress.steps % VERIFY_EVERY === 0) await world.verify();
  }

  toString(): string {
    return `${this.#kind}(${this.#a}, ${this.#b})`;
  }
}

/** Runs of this many steps. Each has its own weights: what is frequent in one is rare in another. */
export function runsOf(steps: number): fc.Arbitrary<readonly Step[]> {
  const moods = fc.array(fc.nat(4), { minLength: KINDS.length, maxLength: KINDS.length });
  return moods.chain((mood) =>
    fc.array(
      fc
        .tuple(
          fc.oneof(
            ...KINDS.map((kind, n) => ({
              weight: weightOf(kind, mood[n] ?? 0),
              arbitrary: fc.constant(kind),
            })),
          ),
          fc.nat(RANGE),
          fc.nat(RANGE),
        )
        .map(([kind, a, b]) => new Step(kind, a, b)),
      { minLength: steps, maxLength: steps },
    ),
  );
}

function weightOf(kind: Kind, mood: number): number {
  return ACTS[kind].weight * (ALWAYS.has(kind) ? mood + 1 : mood);
}

const RECENT = 30;
const VERIFY_EVERY = 1_000;
const RANGE = 65_535;

const exchangeOf = (world: World, a: number): SimExchange | undefined =>
  world.providers.exchanges[a % world.providers.exchanges.length];
const commit: Act = (world, a) => world.commit(a);
const chatOf = (world: World, { subject }: SimExchange) => world.books.chats.get(subject);

/** Occasionally a provider's tokenizer counts many more tokens of the prompt than were held for. */
function usageOf({ promptTokens }: SimChat, b: number, outputTokens: number): StatedUsage {
  return { inputTokens: promptTokens + (b % 7 === 0 ? (b >> 3) % 100 : 0), outputTokens };
}

/** Lets the provider of some open exchange act; when there is none, the database may continue. */
function provider(act: (world: World, exchange: SimExchange, b: number) => void): Act {
  return (world, a, b) => {
    const exchange = exchangeOf(world, a);
    if (exchange) return act(world, exchange, b);
    return b % 4 === 0 ? commit(world, a, b) : undefined;
  };
}

/** An image provider accepts a job, works on it, or delivers: as many images as requested, fewer or more. */
function answerJob({ books, providers }: World, exchange: SimExchange, b: number): void {
  const job = books.jobs.get(exchange.subject);
  if (!job) return;
  const isAccepted = exchange.kind === "submit" && b % 4 > 0;
  const isWorking = exchange.kind === "poll" && b % 2 === 0;
  if (isAccepted) providers.accept(exchange);
  else if (isWorking) providers.report(exchange, "processing", (b % 100) / 100);
  else {
    const images = 1 + ((b >> 3) % 4);
    job.made(exchange, images);
    providers.deliver(exchange, images);
  }
}

/** `weight` is the frequency relative to the others. */
const ACTS = {
  ask: {
    weight: 150,
    act: (world, a, b) =>
      world.ask({
        router: a,
        key: a >> 2,
        stream: b % 2 === 0,
        prompt: 1 + ((b >> 1) % 5),
        limit: (b >> 4) % 9,
      }),
  },
  answer: {
    weight: 480,
    act: provider((world, exchange, b) => {
      const chat = chatOf(world, exchange);
      if (!chat) return answerJob(world, exchange, b);
      const words = 1 + (b % 6);
      if (chat.isStream) {
        exchange.words += words;
        chat.streamed(exchange);
        world.providers.stream(exchange, words);
        return;
      }
      exchange.words = words;
      // Some report their usage, and some of those too much.
      const usage = b % 3 === 0 ? undefined : usageOf(chat, b, b % 3 === 1 ? words : 40);
      if (usage) chat.stated(exchange, usage);
      chat.completed(exchange);
      world.providers.answer(exchange, words, usage);
    }),
  },
  finish: {
    weight: 160,
    act: provider((world, exchange, b) => {
      const chat = chatOf(world, exchange);
      if (!chat?.isStream || exchange.words === 0) return;
      if (b % 2 === 0) {
        const usage = usageOf(chat, b, exchange.words + (b % 3));
        chat.stated(exchange, usage);
        world.providers.state(exchange, usage);
      }
      if (b % 5 === 0) return;
      chat.completed(exchange);
      world.providers.finish(exchange);
    }),
  },
  refuse: {
    weight: 30,
    act: provider((world, exchange, b) => {
      if (exchange.words > 0) return;
      if (exchange.kind === "poll" && b % 2 === 0) return world.providers.report(exchange, "failed");
      chatOf(world, exchange)?.tryFailed();
      world.providers.refuse(exchange, b % 2 === 0 || exchange.kind !== "chat" ? 500 : 200);
    }),
  },
  cut: {
    weight: 30,
    act: provider((world, exchange) => {
      chatOf(world, exchange)?.tryFailed();
      world.providers.cut(exchange);
    }),
  },
  leave: {
    weight: 40,
    act: (world, a) => {
      const open = [...world.books.chats.values()].filter(
        ({ isAnswered, hasLeft }) => !isAnswered && !hasLeft,
      );
      const chat = open[a % open.length];
      chat?.left();
      chat?.leave();
    },
  },
  commit: { weight: 70, act: commit },
  lose: { weight: 10, act: (world, a) => world.commit(a, "lost") },
  unheard: { weight: 10, act: (world, a) => world.commit(a, "unheard") },
  pay: {
    weight: 40,
    act: (world, a, b) => {
      const account = world.accounts[a % world.accounts.length];
      if (account) world.chain.pay(account, BigInt(b) * 10_000_000_000_000_007n);
    },
  },
  mine: { weight: 120, act: (world) => world.chain.mine() },
  reorg: { weight: 20, act: (world, a, b) => world.chain.reorg(1 + (a % 4), b * 40_503) },
  endpoint: {
    weight: 20,
    act: (world, a) => {
      world.rpcMood = RPC_MOODS[a % RPC_MOODS.length] ?? "good";
    },
  },
  submit: {
    weight: 16,
    act: (world, a, b) => world.submit({ router: a, key: a >> 2, images: 1 + (b % 3) }),
  },
  work: { weight: 30, act: (world, a) => world.work(a) },
  renew: { weight: 6, act: (world, a) => world.renew(a) },
  cancel: { weight: 6, act: (world, a, b) => world.cancel(a, b) },
  scan: { weight: 24, act: (world, a) => world.scan(a) },
  publish: { weight: 8, act: (world, a) => world.publish(a) },
  sequence: { weight: 20, act: (world, a, b) => world.sequence(a, 1 + (b % 9)) },
  sign: { weight: 6, act: (world, a) => world.signHead(a) },
  bus: {
    weight: 6,
    act: (world, a) => {
      world.busFails = a % 3 === 0;
    },
  },
  sweep: { weight: 24, act: (world, a) => world.sweep(a) },
  beat: { weight: 80, act: (world, a) => world.beat(a) },
  wait: { weight: 200, act: (world, a, b) => world.clock.advance(b % 4 === 0 ? a : a >> 8) },
  waitLong: { weight: 3, act: (world, a) => world.clock.advance(a * 300) },
  revoke: { weight: 1, act: (world, a) => world.revoke(a) },
  crash: { weight: 5, act: (world, a, b) => world.crash(a, b) },
} satisfies Record<string, { weight: number; act: Act }> as Record<Kind, { weight: number; act: Act }>;

type Kind =
  | "ask"
  | "answer"
  | "finish"
  | "refuse"
  | "cut"
  | "leave"
  | "commit"
  | "lose"
  | "unheard"
  | "pay"
  | "mine"
  | "reorg"
  | "endpoint"
  | "submit"
  | "work"
  | "renew"
  | "cancel"
  | "scan"
  | "publish"
  | "sequence"
  | "sign"
  | "bus"
  | "sweep"
  | "beat"
  | "wait"
  | "waitLong"
  | "revoke"
  | "crash";

/** The steps that every run has. */
const ALWAYS: ReadonlySet<Kind> = new Set(["ask", "answer", "commit"]);
const KINDS = Object.keys(ACTS) as Kind[];
