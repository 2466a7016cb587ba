import { isIPv6 } from "node:net";
import { redact } from "../../../kernel/log.ts";
import { toStorable } from "../../../kernel/text/storable.ts";

const MAX_LENGTH = 500;
/** More than an answer with an error may have. */
const MAX_READ = 65_536;
const HIDDEN = "[address]";

/** A URL of any scheme; slashes are escaped in JSON within a text. */
const URLS = /\b[a-z][a-z0-9+.-]{1,15}:\\?\/\\?\/[^\s"'<>`]+/gi;
const BRACKETED = /\[([0-9a-f:.]{2,45})(?:%[^\]\s]{1,64})?\](?::\d{1,5})?/gi;
const IPV4 = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?![\w.]?\w)/g;
/**
 * A host with a port. A name without dots is one only with a hyphen or a digit and a port of four or five digits, so that
 * `max_tokens:4096` stays.
 */
const HOSTS =
  /(?<![\w.-])(?:localhost(?::\d{1,5})?|(?:[a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}:\d{1,5}|(?=[a-z]{0,62}[\d-])[a-z0-9-]{1,63}:\d{4,5})(?![\w-])/gi;
/** Punctuation after a URL is not part of it. */
const PUNCTUATION = /[.,;:!?)}]{1,8}$/;

/**
 * A provider's reason or error as clients may see it: without addresses, of its own server or of those behind it
 * (promises P11), without secrets of keys, and cut to 500 characters. The host and the path of `providerUrl` are
 * removed, too.
 */
export function shownReason(reason: string, providerUrl: string | undefined): string {
  const text = redact(reason.slice(0, MAX_READ))
    .replace(URLS, (url) => HIDDEN + (PUNCTUATION.exec(url)?.[0] ?? ""))
    .replace(BRACKETED, (all, host: string) => (isIPv6(host) ? HIDDEN : all))
    .replace(IPV4, HIDDEN)
    .replace(HOSTS, HIDDEN);
  return toStorable(withoutOwn(text, providerUrl), MAX_LENGTH);
}

/** Removes the host of a URL, with and without a port, and its path, unless that is one of every API. */
function withoutOwn(text: string, providerUrl: string | undefined): string {
  if (providerUrl === undefined || !URL.canParse(providerUrl)) return text;
  const { hostname, pathname } = new URL(providerUrl);
  const host = escaped(hostname.replace(/^\[|\]$/g, ""));
  const path = pathname.replace(/\/+$/, "");
  const names = text.replace(
    new RegExp(String.raw`(?<![\w-])\[?${host}\]?(?::\d{1,5})?(?![\w-])`, "gi"),
    HIDDEN,
  );
  return COMMON_PATHS.has(path) ? names : names.replaceAll(path, HIDDEN);
}

const COMMON_PATHS: ReadonlySet<string> = new Set(["", "/v1", "/api", "/api/v1", "/openai/v1"]);

function escaped(text: string): string {
  return text.replace(/[^a-z0-9]/gi, (character) => `\\${character}`);
}
