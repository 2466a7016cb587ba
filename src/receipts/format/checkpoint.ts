import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";

/** The head of a log: its name, the number of its leaves, and its root (C2SP tlog-checkpoint). */
export type Checkpoint = { readonly origin: string; readonly size: number; readonly root: Uint8Array };

/** An Ed25519 key that signs notes (C2SP signed-note). */
export type NoteKey = { readonly name: string; readonly publicKey: Uint8Array };

const ED25519 = Uint8Array.of(1);
const KEY_BYTES = 32;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const ROOT_BYTES = 32;
const MAX_NOTE_CHARACTERS = 65_536;
const MAX_ARGUMENTS = 8_192;
const SIGNATURE_PREFIX = "— ";

/** The text of a checkpoint: what is signed. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  if (!isLine(origin)) throw new TypeError("the origin of a log is one line of text");
  return `${origin}\n${size}\n${encodeBase64(root)}\n`;
}

/** Reads the text of a checkpoint; undefined if it is malformed. Lines after the root are ignored. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const [origin = "", decimal = "", encoded = ""] = text.split("\n", 3);
  const root = decodeBase64(encoded);
  const size = Number(decimal);
  if (!isLine(origin) || !isText(text) || !/^(0|[1-9][0-9]{0,15})$/.test(decimal)) return undefined;
  if (!Number.isSafeInteger(size) || root?.length !== ROOT_BYTES) return undefined;
  return { origin, size, root };
}

/** The id of a key: the first four bytes of the hash of its name and type, as 8 hexadecimal digits. */
export function keyIdOf(key: NoteKey): string {
  return bytesToHex(keyIdBytes(key));
}

/** A key in the form in which it is published: `name+id+base64(type, public key)`. */
export function encodeVerifierKey(key: NoteKey): string {
  if (!isKeyName(key.name)) throw new TypeError("the name of a key has no spaces and no plus");
  return `${key.name}+${keyIdOf(key)}+${encodeBase64(concatBytes(ED25519, key.publicKey))}`;
}

/** Reads a published key; undefined if it is malformed, of another type, or its id is not that of its name and bytes. */
export function parseVerifierKey(text: string): NoteKey | undefined {
  // Base64 may have a plus, a name may not.
  const [, name = "", id = "", encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  const bytes = decodeBase64(encoded);
  if (bytes?.length !== KEY_BYTES + ED25519.length || bytes[0] !== ED25519[0]) return undefined;
  const key = { name, publicKey: bytes.subarray(ED25519.length) };
  return isKeyName(name) && keyIdOf(key) === id ? key : undefined;
}

/** A text with its signature, as a note. `sign` makes the Ed25519 signature of the key. */
export function signNote(text: string, key: NoteKey, sign: (bytes: Uint8Array) => Uint8Array): string {
  if (!isText(text) || !isKeyName(key.name)) throw new TypeError("the text of a note ends with a newline");
  const signature = encodeBase64(concatBytes(keyIdBytes(key), sign(utf8ToBytes(text))));
  return `${text}\n${SIGNATURE_PREFIX}${key.name} ${signature}\n`;
}

/**
 * The text of a note that this key has signed; undefined if the note is malformed, or not signed by it. Signatures of
 * other keys, such as those of witnesses, are ignored.
 */
export function openNote(note: string, key: NoteKey): string | undefined {
  const end = note.lastIndexOf("\n\n");
  if (note.length > MAX_NOTE_CHARACTERS || end < 0 || !note.endsWith("\n")) return undefined;
  const text = note.slice(0, end + 1);
  const signatures = note
    .slice(end + 2, -1)
    .split("\n")
    .map(readSignature);
  if (!isText(text) || signatures.includes(undefined)) return undefined;
  const keyId = keyIdOf(key);
  const own = signatures.filter((line) => line?.name === key.name && line.keyId === keyId);
  const isSigned = own.length > 0 && own.every((line) => line && verifies(line.signature, text, key));
  return isSigned ? text : undefined;
}

/** The head of the log in a note, if this key has signed it and it is the head of the key's own log. */
export function openCheckpoint(note: string, key: NoteKey): Checkpoint | undefined {
  const text = openNote(note, key);
  const checkpoint = text === undefined ? undefined : parseCheckpoint(text);
  return checkpoint?.origin === key.name ? checkpoint : undefined;
}

/** Whether this is the Ed25519 signature (RFC 8032) of the bytes. */
export function verifySignature(signature: Uint8Array, bytes: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, bytes, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

/** Standard base64, padded. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  // An image has more bytes than a function takes arguments.
  for (let at = 0; at < bytes.length; at += MAX_ARGUMENTS)
    text += String.fromCharCode(...bytes.subarray(at, at + MAX_ARGUMENTS));
  return btoa(text);
}

/** Reads standard base64; undefined for any other text, such as one with another padding. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return encodeBase64(bytes) === text ? bytes : undefined;
}

type NoteSignature = { readonly name: string; readonly keyId: string; readonly signature: Uint8Array };

function readSignature(line: string): NoteSignature | undefined {
  const [, name = "", encoded = ""] = /^— (\S+) (\S+)$/u.exec(line) ?? [];
  const bytes = decodeBase64(encoded);
  if (!isKeyName(name) || !bytes || bytes.length <= ID_BYTES) return undefined;
  return { name, keyId: bytesToHex(bytes.subarray(0, ID_BYTES)), signature: bytes.subarray(ID_BYTES) };
}

function verifies(signature: Uint8Array, text: string, { publicKey }: NoteKey): boolean {
  return signature.length === SIGNATURE_BYTES && verifySignature(signature, utf8ToBytes(text), publicKey);
}

function keyIdBytes({ name, publicKey }: NoteKey): Uint8Array {
  const named = concatBytes(utf8ToBytes(`${name}\n`), ED25519, publicKey);
  return sha256(named).subarray(0, ID_BYTES);
}

function isKeyName(name: string): boolean {
  return name.isWellFormed() && /^[^\s+\p{Cc}]+$/u.test(name);
}

function isLine(text: string): boolean {
  return text.isWellFormed() && /^[^\p{Cc}]+$/u.test(text);
}

/** Whether a note may have this text: lines that each end with a newline, without other control characters. */
function isText(text: string): boolean {
  return text.isWellFormed() && text.endsWith("\n") && !/\p{Cc}/u.test(text.replaceAll("\n", ""));
}
