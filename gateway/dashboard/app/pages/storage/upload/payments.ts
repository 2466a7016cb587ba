/** So long the chain may take to show a submission: until then it is not paid for again. */
const PAID_MS = 600_000;
const PREFIX = "zerograph-paid:";
const PAYING = "zerograph-paying:";
/** What the browser does not keep, this tab knows. */
const known = new Map<string, number>();

/** An account that pays, and how many transactions it has sent; undefined if its wallet does not say. */
type Sender = { readonly address: string; readonly sentCount: number | undefined };

/** Notes that a wallet is asked to send the submission of a root: the page may be left before it answers. */
export function notePaying(root: string, { address, sentCount }: Sender): void {
  dropOld();
  write(PAYING + root, [Date.now(), address.toLowerCase(), sentCount ?? ""].join(" "));
}

/**
 * Whether a page that was left had a wallet asked for the submission of a root a short time ago, and the account has sent
 * a transaction since. A wallet that does not count them is taken to have sent it.
 */
export function isSentSince(root: string, { address, sentCount }: Sender): boolean {
  const [at = "", from, count = ""] = read(PAYING + root)?.split(" ") ?? [];
  if (!at || !isRecent(Number(at)) || from !== address.toLowerCase()) return false;
  return sentCount === undefined || count === "" || sentCount > Number(count);
}

/**
 * Notes that the submission of a root was sent to the chain. The note outlasts a sign-out, unlike all that is kept for an
 * account: the next upload of the file would be paid again while the chain does not show the submission yet. By then, the
 * chain shows the root to everyone.
 */
export function notePaid(root: string): void {
  dropOld();
  known.set(root, Date.now());
  write(PREFIX + root, String(Date.now()));
}

/** Whether the submission of a root was sent a short time ago, so that the chain may not show it yet. */
export function isJustPaid(root: string): boolean {
  return isRecent(known.get(root)) || isRecent(stored(PREFIX + root));
}

/** Drops the notes of a root whose file is stored: if a reorg removes the submission, the next upload is paid for. */
export function forgetPaid(root: string): void {
  known.delete(root);
  drop(PREFIX + root);
  drop(PAYING + root);
}

function dropOld(): void {
  try {
    const names = Array.from({ length: localStorage.length }, (_, n) => localStorage.key(n) ?? "");
    for (const name of names)
      if ((name.startsWith(PREFIX) || name.startsWith(PAYING)) && !isRecent(stored(name))) drop(name);
  } catch {
    // The browser keeps nothing.
  }
}

function isRecent(paidAt: number | undefined): boolean {
  return paidAt !== undefined && Date.now() - paidAt < PAID_MS;
}

/** The time that a note begins with. */
function stored(name: string): number | undefined {
  const text = read(name);
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

function read(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // The browser keeps nothing.
  }
}

function drop(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // The browser keeps nothing.
  }
}
