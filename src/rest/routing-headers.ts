import type { App } from "../app.ts";
import { MAX_FALLBACK_MODELS } from "../inference/routing/fallback-models.ts";
import {
  MAX_LISTED_PROVIDERS,
  MAX_SESSION_ID,
  PROVIDER_SORTS,
  type PriceCaps,
  type RoutingPreferences,
  readUsd,
  type Usd,
} from "../inference/routing/routing-preferences.ts";
import { AppError } from "../kernel/errors.ts";
import { type Hex, isAddress, lowerHex } from "../kernel/text/hex.ts";
import { EVIDENCE_FLOORS, TRUST_FLOORS } from "../keys/api-keys/key-settings.ts";

const CONTROLS = [
  "sort",
  "address",
  "order",
  "only",
  "ignore",
  "trust-mode",
  "evidence",
  "allow-fallbacks",
  "fallback-models",
  "max-price-usd-prompt",
  "max-price-usd-completion",
  "max-price-usd-image",
] as const;
type Control = (typeof CONTROLS)[number];
type SentHeader = { readonly name: string; readonly text: string };

/**
 * Reads a client's routing preferences from `X-<word>-Provider-*` headers under any of the platform's words (SPEC 4.2,
 * facts 1.4), and the session from OpenRouter's `X-Session-Id`. Fields that were not sent are absent. Throws
 * `invalid_provider_header` or `invalid_max_price_usd` for a malformed value and for a control that was sent twice.
 */
export function readRouting(rawHeaders: readonly string[], words: readonly string[]): RoutingPreferences {
  let sent: Map<Control, SentHeader> | undefined;
  let session: SentHeader | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name[0] !== "x" && name[0] !== "X") continue;
    if (name.length === SESSION.length && name.toLowerCase() === SESSION) {
      if (session) throw malformed("session", name, "was sent twice");
      session = { name, text: rawHeaders[at + 1] ?? "" };
    }
    if (name.length < MIN_NAME) continue;
    const control = controlOf(name.toLowerCase(), words);
    if (control === undefined) continue;
    sent ??= new Map();
    if (sent.has(control)) throw malformed(control, name, "was sent twice");
    sent.set(control, { name, text: rawHeaders[at + 1] ?? "" });
  }
  const preferences = sent ? toPreferences(sent) : {};
  return session?.text ? { ...preferences, sessionId: readSession(session) } : preferences;
}

/** The session id of a header: visible ASCII, as bytes of other characters have no agreed meaning there. */
function readSession({ name, text }: SentHeader): string {
  if (text.length <= MAX_SESSION_ID && /^[\x20-\x7e]*$/.test(text)) return text;
  throw malformed("session", name, `must have at most ${MAX_SESSION_ID} ASCII characters`);
}

/** The same, as the `headers` of a route, with the words of this deployment. */
export function routingHeaders({ config }: App, rawHeaders: readonly string[]): RoutingPreferences {
  return readRouting(rawHeaders, config.PLATFORM_WORDS);
}

const MAX_MODEL_LENGTH = 256;
const SESSION = "x-session-id";
const MIN_NAME = "x-a-provider-sort".length;

function controlOf(name: string, words: readonly string[]): Control | undefined {
  const [, word, rest] = /^x-([a-z0-9]+)-provider-([a-z-]+)$/.exec(name) ?? [];
  if (word === undefined || !words.some((known) => known.toLowerCase() === word)) return undefined;
  return CONTROLS.find((control) => control === rest);
}

function toPreferences(sent: ReadonlyMap<Control, SentHeader>): RoutingPreferences {
  const caps: PriceCaps = {
    ...read(sent, "max-price-usd-prompt", priceOf, "prompt"),
    ...read(sent, "max-price-usd-completion", priceOf, "completion"),
    ...read(sent, "max-price-usd-image", priceOf, "image"),
  };
  return {
    ...read(sent, "sort", (text) => PROVIDER_SORTS.find((sort) => sort === text), "sort"),
    ...read(sent, "address", (text) => (isAddress(text) ? lowerHex(text) : undefined), "pin"),
    ...read(sent, "order", addressesOf, "order"),
    ...read(sent, "only", addressesOf, "only"),
    ...read(sent, "ignore", addressesOf, "ignore"),
    ...read(sent, "trust-mode", (text) => TRUST_FLOORS.find((floor) => floor === text), "trustMode"),
    ...read(sent, "evidence", (text) => EVIDENCE_FLOORS.find((floor) => floor === text), "evidence"),
    ...read(sent, "allow-fallbacks", booleanOf, "allowFallbacks"),
    ...read(sent, "fallback-models", modelsOf, "fallbackModels"),
    ...(Object.keys(caps).length > 0 && { caps }),
  };
}

function read<T, Name extends string>(
  sent: ReadonlyMap<Control, SentHeader>,
  control: Control,
  parse: (text: string) => T | undefined,
  field: Name,
): { readonly [key in Name]?: T } {
  const header = sent.get(control);
  if (header === undefined) return {};
  const value = parse(header.text);
  if (value === undefined) throw malformed(control, header.name, "is malformed");
  return { [field]: value } as { readonly [key in Name]?: T };
}

function priceOf(text: string): Usd | undefined {
  return readUsd(text);
}

/** A list of addresses, separated by commas. */
function addressesOf(text: string): readonly Hex[] | undefined {
  const addresses = text.split(",", MAX_LISTED_PROVIDERS + 1).map((address) => address.trim());
  return addresses.length <= MAX_LISTED_PROVIDERS && addresses.every(isAddress)
    ? addresses.map(lowerHex)
    : undefined;
}

/** A list of model ids, separated by commas. */
function modelsOf(text: string): readonly string[] | undefined {
  const models = text.split(",").map((model) => model.trim());
  const isValid = ({ length }: string) => length > 0 && length <= MAX_MODEL_LENGTH;
  return models.length <= MAX_FALLBACK_MODELS && models.every(isValid) ? models : undefined;
}

function booleanOf(text: string): boolean | undefined {
  return text === "true" ? true : text === "false" ? false : undefined;
}

/** `name` is the header as the client spelled it. */
function malformed(control: Control | "session", name: string, what: string): AppError {
  const code = control.startsWith("max-price") ? "invalid_max_price_usd" : "invalid_provider_header";
  return new AppError(code, `The header ${name} ${what}.`, { param: name });
}
