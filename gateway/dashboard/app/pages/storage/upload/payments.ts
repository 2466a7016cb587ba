/** So long the chain may take to show a submission: until then it is not paid for again. */
const PAID_MS = 600_000;
const PREFIX = "zerograph-paid:";
/** What the browser does not keep, this tab knows. */
const known = new Map<string, number>();

/**
 * Notes that the submission of a root was sent to the chain. The note outlasts a sign-out, unlike all that is kept for an
 * account: the next upload of the file would be paid again while the chain does not show the submission yet. By then, the
 * chain shows the root to everyone.
 */
export function notePaid(root: string): void {
  dropOld();
  known.set(root, Date.now());
  try {
    localStorage.setItem(PREFIX + root, String(Date.now()));
  } catch {
    // The browser keeps nothing.
  }
}

/** Whether the submission of a root was sent a short time ago, so that the chain may not show it yet. */
export function isJustPaid(root: string): boolean {
  return isRecent(known.get(root)) || isRecent(stored(PREFIX + root));
}

/** Drops the note of a root whose file is stored: if a reorg removes the submission, the next upload is paid for. */
export function forgetPaid(root: string): void {
  known.delete(root);
  drop(PREFIX + root);
}

function dropOld(): void {
  try {
    const names = Array.from({ length: localStorage.length }, (_, n) => localStorage.key(n) ?? "");
    for (const name of names) if (name.startsWith(PREFIX) && !isRecent(stored(name))) drop(name);
  } catch {
    // The browser keeps nothing.
  }
}

function isRecent(paidAt: number | undefined): boolean {
  return paidAt !== undefined && Date.now() - paidAt < PAID_MS;
}

function stored(name: string): number | undefined {
  try {
    const text = localStorage.getItem(name);
    return text === null ? undefined : Number(text);
  } catch {
    return undefined;
  }
}

function drop(name: string): void {
  try {
    localStorage.removeItem(name);
  } catch {
    // The browser keeps nothing.
  }
}
