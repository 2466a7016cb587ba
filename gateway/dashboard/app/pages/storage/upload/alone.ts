import { randomId } from "../../../data/random-id.ts";

/** A tab that has not renewed its claim for this time is gone. Browsers let a hidden tab act once a minute. */
const CLAIM_MS = 150_000;
const RENEW_MS = 30_000;
const LOOK_MS = 250;
/** So long a claim of another tab, made at the same moment, may take to be seen. */
const SETTLE_MS = 100;

type Claim = { readonly tab: string; readonly until: number };

/** Runs when no other tab of this browser runs anything of this name. Throws when `signal` aborts before. */
export async function alone(name: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
  const { locks } = navigator as Partial<Navigator>;
  if (locks) await locks.request(`zerograph-upload ${name}`, { signal }, run);
  else await withClaim(`zerograph-upload:${name}`, signal, run);
}

/** A page over plain HTTP has no locks: the tabs of this browser see each other's claims in its storage. */
async function withClaim(key: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
  const tab = randomId();
  while (!(await take(key, tab))) {
    await sleep(LOOK_MS);
    signal.throwIfAborted();
  }
  const giveBack = () => readClaim(key)?.tab === tab && localStorage.removeItem(key);
  const renewal = setInterval(() => write(key, tab), RENEW_MS);
  addEventListener("pagehide", giveBack);
  try {
    signal.throwIfAborted();
    await run();
  } finally {
    removeEventListener("pagehide", giveBack);
    clearInterval(renewal);
    giveBack();
  }
}

/** Takes the claim unless another tab has it. Of tabs that take it at the same moment, the last one has it. */
async function take(key: string, tab: string): Promise<boolean> {
  if (readClaim(key)) return false;
  // A browser that keeps nothing has no claims.
  if (!write(key, tab)) return true;
  await sleep(SETTLE_MS);
  return readClaim(key)?.tab === tab;
}

/** The claim of a tab that is still there. */
function readClaim(key: string): Claim | undefined {
  try {
    const claim = JSON.parse(localStorage.getItem(key) ?? "null") as Claim | null;
    return claim && claim.until > Date.now() ? claim : undefined;
  } catch {
    return undefined;
  }
}

function write(key: string, tab: string): boolean {
  try {
    localStorage.setItem(key, JSON.stringify({ tab, until: Date.now() + CLAIM_MS }));
    return true;
  } catch {
    return false;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
