import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkpointText,
  decodeBase64,
  encodeBase64,
  encodeVerifierKey,
  type NoteKey,
  openCheckpoint,
  openNote,
  parseCheckpoint,
  parseVerifierKey,
  signNote,
} from "../../../src/receipts/format/checkpoint.ts";

/** The example of Go's implementation, `golang.org/x/mod/sumdb/note`. */
const PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const NOTE =
  "If you think cryptography is the answer to your problem,\n" +
  "then you don't know what your problem is.\n" +
  "\n" +
  "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

const peter = known(parseVerifierKey(PETER));
const head = { origin: "example.com/log", size: 7, root: new Uint8Array(32).fill(7) };

describe("a signed note", () => {
  it("of another implementation opens with its key", () => {
    expect(openNote(NOTE, peter)).toBe(
      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n",
    );
    expect(encodeVerifierKey(peter)).toBe(PETER);
  });

  it("opens with no other key, and not when one character is changed", () => {
    const own = newKey("PeterNeumann");
    expect(openNote(NOTE, own.key)).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(NOTE.length - 1), (at) => {
        const changed = NOTE.slice(0, at) + (NOTE[at] === "x" ? "y" : "x") + NOTE.slice(at + 1);
        expect(openNote(changed, peter)).toBeUndefined();
      }),
    );
  });

  it("keeps its signature beside those of others, and is refused with a false one of the same key", () => {
    const { key, signer } = newKey("example.com/log");
    const witness = newKey("witness.example");
    const note = signNote("text\n", key, signer);
    const line = signNote("text\n", witness.key, witness.signer).split("\n\n")[1] ?? "";
    expect(openNote(note + line, key)).toBe("text\n");
    expect(openNote(note + line, witness.key)).toBe("text\n");
    const falseLine = signNote("other\n", key, signer).split("\n\n")[1] ?? "";
    expect(openNote(note + falseLine, key)).toBeUndefined();
  });

  it.each([
    ["no signature", "text\n\n"],
    ["no text", "\n— a AAAAAAAA\n"],
    ["no newline at its end", NOTE.slice(0, -1)],
    ["a line that is no signature", `${NOTE}more\n`],
    ["a control character", NOTE.replace("you", "y\tou")],
  ])("with %s is refused", (_, note) => {
    expect(openNote(note, peter)).toBeUndefined();
  });
});

describe("a key", () => {
  it.each([
    ["with a false id", PETER.replace("c74f", "c74e")],
    ["of another name", PETER.replace("Peter", "Paul")],
    ["of another type", "PeterNeumann+c74f20a3+BBpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"],
    ["that is too short", "PeterNeumann+c74f20a3+ARpc2QcU"],
    ["without a name", PETER.slice("PeterNeumann".length)],
    ["with a space", PETER.replace("Peter", "Peter ")],
  ])("%s is refused", (_, text) => {
    expect(parseVerifierKey(text)).toBeUndefined();
  });
});

describe("a checkpoint", () => {
  it("is the name of the log, its size and its root", () => {
    expect(checkpointText(head)).toBe(`example.com/log\n7\n${encodeBase64(head.root)}\n`);
  });

  it("reads back, also with further lines", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.uint8Array({ minLength: 32, maxLength: 32 }), (size, root) => {
        const text = checkpointText({ origin: "example.com/log", size, root });
        expect(parseCheckpoint(text)).toEqual({ origin: "example.com/log", size, root });
        expect(parseCheckpoint(`${text}extension\n`)).toEqual({ origin: "example.com/log", size, root });
      }),
    );
  });

  it.each([
    ["a size with a leading zero", "a\n07\n"],
    ["a negative size", "a\n-1\n"],
    ["an inexact size", "a\n9007199254740993\n"],
    ["no origin", "\n7\n"],
  ])("with %s is refused", (_, start) => {
    expect(parseCheckpoint(`${start}${encodeBase64(head.root)}\n`)).toBeUndefined();
  });

  it("with a root of another length is refused", () => {
    expect(parseCheckpoint(`a\n7\n${encodeBase64(new Uint8Array(31))}\n`)).toBeUndefined();
  });

  it("is that of the key's own log only", () => {
    const { key, signer } = newKey("example.com/log");
    expect(openCheckpoint(signNote(checkpointText(head), key, signer), key)).toEqual(head);
    const other = checkpointText({ ...head, origin: "example.com/other" });
    expect(openCheckpoint(signNote(other, key, signer), key)).toBeUndefined();
  });
});

describe("base64", () => {
  it("has one form for each value", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
        expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
      }),
    );
    for (const text of ["AB==", "AAA", "A===", "AA=A", "A-A=", "AAAA\n"])
      expect(decodeBase64(text)).toBeUndefined();
  });
});

function newKey(name: string): { key: NoteKey; signer: (bytes: Uint8Array) => Uint8Array } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { key: { name, publicKey: rawKey(publicKey) }, signer: (bytes) => sign(null, bytes, privateKey) };
}

function rawKey(key: KeyObject): Uint8Array {
  return new Uint8Array(Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url"));
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the example is not read");
  return value;
}
