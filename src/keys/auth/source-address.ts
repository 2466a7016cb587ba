import type { IncomingMessage } from "node:http";
import { BlockList, isIPv4, isIPv6 } from "node:net";

/** The source of a request, as reported by the connection and its proxies. */
export type Hop = {
  /** The address of the socket's peer; undefined if the socket is closed. */
  readonly peer: string | undefined;
  /** `X-Forwarded-For`: the client first, then each proxy. Anyone may send it. */
  readonly forwardedFor: string | readonly string[] | undefined;
};

/** Reads the source of a Node request. */
export function hopOf({ socket, headers }: Pick<IncomingMessage, "socket" | "headers">): Hop {
  return { peer: socket.remoteAddress, forwardedFor: headers["x-forwarded-for"] };
}

/** Of a longer list only the last entries are read: those written by our own proxies. */
const MAX_ENTRIES = 50;

/**
 * The source address of a request: the socket's peer, unless that is a trusted proxy; then the right-most entry of
 * `X-Forwarded-For` that is not one. A list with an invalid entry is ignored altogether.
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

/** Whether the socket's peer is a trusted proxy. */
export function isTrustedPeer({ peer }: Hop, trusted: BlockList): boolean {
  const address = peer === undefined ? undefined : normaliseAddress(peer);
  return address !== undefined && isListed(address, trusted);
}

/**
 * The canonical form of an IP address: dotted quad for IPv4, also if mapped into IPv6, else RFC 5952 without its zone.
 * Undefined for an invalid address.
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

/** The part of a normalised address that identifies a client: of IPv6 the first 64 bits, as a network owns the rest. */
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

/** The trusted proxies, from addresses and CIDR ranges. */
export function trustedProxies(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of ranges) {
    const range = readRange(text);
    if (!range) throw new Error(`${text} is not an address range`);
    list.addSubnet(range.address, range.bits, familyOf(range.address));
  }
  return list;
}

function readRange(text: string): { address: string; bits: number } | undefined {
  const [, given = "", length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = normaliseAddress(given);
  if (address === undefined) return undefined;
  // A mapped range would never match, since addresses are unmapped first: it must be written as IPv4.
  if (isIPv4(address) && !isIPv4(given)) return undefined;
  const max = isIPv4(address) ? 32 : 128;
  const bits = length === undefined ? max : Number(length);
  return bits <= max ? { address, bits } : undefined;
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
