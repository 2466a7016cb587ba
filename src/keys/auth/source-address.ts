import type { IncomingMessage } from "node:http";
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Where a request came from, as the connection and the proxies before it tell. */
export type Hop = {
  /** The address at the other end of the socket; undefined when the socket is gone. */
  readonly peer: string | undefined;
  /** `X-Forwarded-For`: the client first, then each proxy. Anyone may send it. */
  readonly forwardedFor: string | readonly string[] | undefined;
};

/** What a request as Node has it tells of its source. */
export function hopOf({ socket, headers }: Pick<IncomingMessage, "socket" | "headers">): Hop {
  return { peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] };
}

/** Of a longer list only the last entries are read: those that our own proxies wrote. */
const MAX_ENTRIES = 50;

/**
 * The address that a request came from: the socket's other end, unless that is a proxy we trust; then the right-most
 * entry of `X-Forwarded-For` that is not one of ours. A list with an entry that is no address is not believed at all.
 */
export function sourceAddress({ peer, forwardedFor }: Hop, trusted: BlockList): string | undefined {
  const socket = peer === undefined ? undefined : normaliseAddress(peer);
  if (socket === undefined || !isListed(socket, trusted) || forwardedFor === undefined) return socket;
  const entries = String(forwardedFor).split(",").slice(-MAX_ENTRIES);
  let source = socket;
  for (const entry of entries.reverse()) {
    const address = normaliseAddress(withoutPort(entry.trim()));
    if (address === undefined) return socket;
    source = address;
    if (!isListed(address, trusted)) return source;
  }
  return source;
}

/** Whether the socket's other end is one of our proxies. */
export function isTrustedPeer({ peer }: Hop, trusted: BlockList): boolean {
  const address = peer === undefined ? undefined : normaliseAddress(peer);
  return address !== undefined && isListed(address, trusted);
}

/**
 * The one spelling of an IP address: dotted quad for IPv4, also when mapped into IPv6, else RFC 5952 without its zone.
 * Undefined for what is none.
 */
export function normaliseAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text)) return undefined;
  const bare = text.replace(/%.*$/, "");
  if (!URL.canParse(`http://[${bare}]/`)) return undefined;
  const short = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join(".");
}

/** What of a normalised address stands for one client: of IPv6 its first 64 bits, as a network has all that follow. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return `${[...before, ...Array<string>(zeros).fill("0"), ...after].slice(0, 4).join(":")}::/64`;
}

/** Whether `text` is an address, or a range of them in CIDR notation. */
export function isAddressRange(text: string): boolean {
  return readRange(text) !== undefined;
}

/** The proxies whose word on a request's source is taken, out of addresses and CIDR ranges. */
export function trustedProxies(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const range = readRange(text);
    if (!range) throw new Error(`${text} is not a range of addresses`);
    list.addSubnet(range.address, range.bits, familyOf(range.address));
  }
  return list;
}

function readRange(text: string): { address: string; bits: number } | undefined {
  const [, given = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = normaliseAddress(given);
  if (address === undefined) return undefined;
  // Of a mapped range nothing is ever compared, since addresses are unmapped first: it must be written as IPv4.
  if (isIPv4(address) && !isIPv4(given)) return undefined;
  const most = isIPv4(address) ? 32 : 128;
  const bits = length === undefined ? most : Number(length);
  return bits <= most ? { address, bits } : undefined;
}

function isListed(address: string, list: BlockList): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const [, inside] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry) ?? [];
  return inside ?? entry.replace(/^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/, "$1");
}
