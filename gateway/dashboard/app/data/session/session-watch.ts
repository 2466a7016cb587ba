/** The codes of refusals without a session, or after its end; `access_refused` is that of a socket closed without one. */
const CODES: ReadonlySet<unknown> = new Set(["missing_authorization", "session_ended", "access_refused"]);
const NOTE = "zerograph-session-ended";

/** What a tab of this browser did to the session, which all of them share. */
type SessionChange = "signed-in" | "signed-out";

const listeners = new Set<() => void>();
let isReloadingPage = false;
let channel: BroadcastChannel | undefined;

/** One for the whole page, as a channel also receives what other channels of the same page send. */
function tabs(): BroadcastChannel {
  channel ??= new BroadcastChannel(NOTE);
  return channel;
}

/** Takes the code of a refusal by the gateway, which may mean that the session is over. */
export function noteRefusal(code: unknown): void {
  if (CODES.has(code)) for (const listener of listeners) listener();
}

/** Calls back when a refusal may mean that the session is over, until the returned function is called. */
export function onRefusal(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reports a change of the session to the other tabs of this browser. */
export function notifyTabs(change: SessionChange): void {
  tabs().postMessage(change);
}

/** Calls back when another tab signs in or out, until the returned function is called. */
export function onOtherTab(listener: (change: SessionChange) => void): () => void {
  const hear = ({ data }: MessageEvent) => listener(data as SessionChange);
  tabs().addEventListener("message", hear);
  return () => tabs().removeEventListener("message", hear);
}

/** Calls back when the browser shows the page again as it was left, as Back may, until the returned function is called. */
export function onShownAgain(listener: () => void): () => void {
  const show = ({ persisted }: PageTransitionEvent) => {
    if (persisted) listener();
  };
  addEventListener("pageshow", show);
  return () => removeEventListener("pageshow", show);
}

/** Loads the page again, so that no data of the account stays in memory; the sign-in page then says why. */
export function reloadEnded(): void {
  isReloadingPage = true;
  noteEnded(true);
  location.reload();
}

/** Leaves the page after a sign-out, so that no data of the account stays in memory. */
export function leaveEnded(): void {
  isReloadingPage = true;
  location.assign("/dashboard/");
}

/** Whether the page is left because the session is over: nothing keeps it open. */
export function isReloading(): boolean {
  return isReloadingPage;
}

/** Whether the sign-in page says that the session has ended: in this tab, until the next sign-in. */
export function hasEnded(): boolean {
  try {
    return sessionStorage.getItem(NOTE) !== null;
  } catch {
    return false;
  }
}

/** Notes that the session has ended, or that there is one again. */
export function noteEnded(is: boolean): void {
  try {
    if (is) sessionStorage.setItem(NOTE, "true");
    else sessionStorage.removeItem(NOTE);
  } catch {
    // The browser keeps nothing: the sign-in page does not say why.
  }
}
