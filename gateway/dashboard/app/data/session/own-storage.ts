/** What this browser keeps for an account: dropped at sign-out, and never shown to another account. */
const PREFIX = "zerograph-own:";

/** `session` ends with the tab; `local` outlasts it. */
type Area = "local" | "session";

/** Set at sign-out: an answer that ends before the page is gone must not be kept any more. */
let isOver = false;

/** A value that was kept for an account; undefined if there is none, or the browser keeps nothing. */
export function readOwn(area: Area, address: string, name: string): unknown {
  try {
    const text = storageOf(area).getItem(keyOf(address, name));
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Keeps a value for an account; undefined drops it. False if the browser does not keep it. */
export function writeOwn(area: Area, address: string, name: string, value: unknown): boolean {
  if (isOver) return false;
  try {
    if (value === undefined) storageOf(area).removeItem(keyOf(address, name));
    else storageOf(area).setItem(keyOf(address, name), JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Drops what is kept for every account, and keeps nothing more until the page is loaded again. */
export function endOwn(): void {
  isOver = true;
  dropOwn(() => true);
}

/** Drops what is kept for accounts other than that of a new session, and keeps nothing more until the page is loaded again. */
export function endOthers(address: string): void {
  isOver = true;
  keepOnly(address);
}

/** Drops what is kept for other accounts. */
export function keepOnly(address: string): void {
  dropOwn((name) => !name.startsWith(keyOf(address, "")));
}

function dropOwn(isDropped: (name: string) => boolean): void {
  for (const area of ["local", "session"] as const)
    try {
      const storage = storageOf(area);
      const names = Array.from({ length: storage.length }, (_, n) => storage.key(n) ?? "");
      for (const name of names) if (name.startsWith(PREFIX) && isDropped(name)) storage.removeItem(name);
    } catch {
      // The browser keeps nothing.
    }
}

function storageOf(area: Area): Storage {
  return area === "local" ? localStorage : sessionStorage;
}

function keyOf(address: string, name: string): string {
  return `${PREFIX}${address.toLowerCase()}:${name}`;
}
