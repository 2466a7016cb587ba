/** The points at which the product is killed (promises P5), in the order in which a request meets them. */
export const POINTS = [
  "before the hold",
  "after the hold",
  "the provider has the request",
  "after the first byte",
  "after the last byte",
  "inside the settlement",
  "after the settlement",
  "worker between claim and result",
] as const;

export type Point = (typeof POINTS)[number];

/** A statement of the product, and when the product kills itself: before it is sent, while it runs, or once it is answered. */
export type StatementTrip = {
  readonly statement: "hold" | "settlement" | "claim";
  readonly edge: "before" | "during" | "after";
};

/** What the provider or a client notices, at which the test kills the product. */
export type Notice =
  | "chat received"
  | "first byte read"
  | "last byte sent"
  | "job received"
  | "job polled"
  | "result sent";

/** Where the kill is triggered: at the nth occurrence of a statement or a notice, and so much later. */
export type Trip = (StatementTrip | { readonly notice: Notice }) & {
  /** 1-based. */
  readonly occurrence: number;
  readonly delayMs: number;
};

/** One kill: the load under which it happens, and its exact moment. */
export type Plan = {
  readonly point: Point;
  readonly seed: number;
  readonly trip: Trip;
  /** Clients that send one request after the other. */
  readonly lanes: number;
  /** Whether some of the requests are image jobs. */
  readonly images: boolean;
  /** The provider's pause between two chunks of a stream. */
  readonly chunkPauseMs: number;
  /** The most tokens of an answer. */
  readonly maxTokens: number;
};

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The plan of a point and a seed. */
export function planOf(point: Point, seed: number): Plan {
  const random = randomOf(seed * POINTS.length + POINTS.indexOf(point));
  const below = (limit: number) => Math.floor(random() * limit);
  return {
    point,
    seed,
    trip: { ...tripOf(point, seed, random), occurrence: 1 + below(6) },
    lanes: 1 + below(12),
    images: point === "worker between claim and result" || random() < 0.3,
    chunkPauseMs: below(4),
    maxTokens: 1 + below(30),
  };
}

function tripOf(point: Point, seed: number, random: () => number) {
  const upTo = (ms: number) => Math.round(random() * ms * 1_000) / 1_000;
  switch (point) {
    case "before the hold":
      return { statement: "hold", edge: "before", delayMs: upTo(10) } as const;
    case "after the hold":
      return { statement: "hold", edge: "after", delayMs: seed % 2 === 0 ? 0 : upTo(4) } as const;
    case "the provider has the request":
      return { notice: "chat received", delayMs: upTo(10) } as const;
    case "after the first byte":
      return { notice: "first byte read", delayMs: upTo(10) } as const;
    case "after the last byte":
      return seed % 2 === 0
        ? ({ statement: "settlement", edge: "before", delayMs: upTo(5) } as const)
        : ({ notice: "last byte sent", delayMs: upTo(2) } as const);
    case "inside the settlement":
      return { statement: "settlement", edge: "during", delayMs: upTo(6) } as const;
    case "after the settlement":
      return { statement: "settlement", edge: "after", delayMs: seed % 2 === 0 ? 0 : upTo(3) } as const;
    case "worker between claim and result":
      return WORKER_TRIPS[seed % WORKER_TRIPS.length]?.(upTo(5)) ?? never(seed);
  }
}

const WORKER_TRIPS = [
  (delayMs: number) => ({ statement: "claim", edge: "after", delayMs }) as const,
  (delayMs: number) => ({ notice: "job received", delayMs }) as const,
  (delayMs: number) => ({ notice: "job polled", delayMs }) as const,
  (delayMs: number) => ({ notice: "result sent", delayMs }) as const,
];

function never(seed: number): never {
  throw new Error(`no plan for the seed ${seed}`);
}
