import { expect, test } from "vitest";
import { EventCursors } from "../../src/events/event-cursors.ts";
import { AppError } from "../../src/kernel/errors.ts";

const cursors = new EventCursors("a secret of thirty-two characters");
const POSITIONS = [0n, 1n, 2n, 1_000_000n, 2n ** 63n - 1n];

test("a cursor decodes to its position in every process with the same secret", () => {
  const other = new EventCursors("a secret of thirty-two characters");
  for (const position of POSITIONS) {
    expect(other.open(cursors.seal(position))).toBe(position);
    expect(other.seal(position)).toBe(cursors.seal(position));
  }
});

test("cursors of neighbouring positions share no pattern that a client could read", () => {
  const sealed = Array.from({ length: 1_000 }, (_, n) => Buffer.from(cursors.seal(BigInt(n)), "base64url"));
  expect(new Set(sealed.map((bytes) => bytes.toString("hex"))).size).toBe(1_000);
  // Of 1,000 random bytes, one value occurs 4 times on average; a counter would give the same first byte each
  // time.
  for (let at = 0; at < 16; at++) expect(new Set(sealed.map((bytes) => bytes[at])).size).toBeGreaterThan(200);
});

test("cursors of the previous version are accepted for one day, then refused", () => {
  const plain = Buffer.from(JSON.stringify(["event", "7"])).toString("base64url");
  const secret = "a secret of thirty-two characters";
  expect(new EventCursors(secret, new Date(Date.now() + 60_000)).open(plain)).toBe(7n);
  expect(() => new EventCursors(secret, new Date(Date.now() - 1)).open(plain)).toThrow(AppError);
});

test("cursors that this deployment did not issue are refused: other secrets, altered or plain positions, other encodings", () => {
  const mine = cursors.seal(7n);
  const forged = [
    "",
    "x",
    new EventCursors("the secret of another deployment").seal(7n),
    `${mine.slice(1)}A`,
    `${mine}=`,
    `${mine}AAAA`,
    Buffer.from(JSON.stringify(["event", "7"])).toString("base64url"),
    Buffer.alloc(16).toString("base64url"),
  ];
  for (const cursor of forged) expect(() => cursors.open(cursor), cursor).toThrow(AppError);
});
