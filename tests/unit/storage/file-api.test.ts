import { describe, expect, test } from "vitest";
import { isKnown, rangeHolds, readRange } from "../../../src/rest/file/byte-range.ts";
import { attachment } from "../../../src/rest/file/content-disposition.ts";
import { sniffType } from "../../../src/storage/downloads/content-type.ts";

describe("a range", () => {
  test.each([
    ["bytes=0-0", 10, 0, 1],
    ["bytes=6-10", 32, 6, 11],
    ["bytes=5-", 10, 5, 10],
    ["bytes=5-999", 10, 5, 10],
    ["bytes=-3", 10, 7, 10],
    ["bytes=-999", 10, 0, 10],
    ["BYTES= 1-2 ", 10, 1, 3],
    ["bytes=0-9223372036854775807", 10, 0, 10],
    ["bytes=0-18446744073709551615", 10, 0, 10],
    [`bytes=4-${"9".repeat(400)}`, 10, 4, 10],
    [`bytes=-${"9".repeat(400)}`, 10, 0, 10],
  ])("%s of %d bytes", (header, size, start, end) => {
    expect(readRange(header, size)).toEqual({ kind: "part", start, end });
  });

  test.each([
    [undefined],
    [""],
    ["bytes=-"],
    ["bytes="],
    ["bytes=a-b"],
    ["bytes=5-2"],
    ["bytes=0-1,3-4"],
    [`bytes=${"0-0,".repeat(1_000)}1-1`],
    ["items=0-1"],
    ["bytes=0x1-2"],
    ["bytes=1.5-2"],
    ["bytes=-1-2"],
  ])("%s selects the whole file", (header) => {
    expect(readRange(header, 10)).toEqual({ kind: "all" });
  });

  test.each([
    ["bytes=10-", 10],
    ["bytes=99-100", 10],
    ["bytes=-0", 10],
    ["bytes=0-", 0],
    ["bytes=-1", 0],
    ["bytes=99999999999999999999-", 10],
  ])("%s of %d bytes is not satisfiable", (header, size) => {
    expect(readRange(header, size)).toEqual({ kind: "unsatisfiable" });
  });

  test("is honoured with If-Range only for the strong tag of the served file", () => {
    expect(rangeHolds(undefined, '"a"')).toBe(true);
    expect(rangeHolds('"a"', '"a"')).toBe(true);
    for (const other of ['"b"', 'W/"a"', "Wed, 21 Oct 2026 07:28:00 GMT", ""])
      expect(rangeHolds(other, '"a"')).toBe(false);
  });

  test("is ignored when the client already has the file", () => {
    expect(isKnown('"b", W/"a"', '"a"')).toBe(true);
    expect(isKnown("*", '"a"')).toBe(true);
    expect(isKnown('"b"', '"a"')).toBe(false);
    expect(isKnown(undefined, '"a"')).toBe(false);
  });
});

describe("the file name of a download", () => {
  test.each([
    ["a.txt", 'attachment; filename="a.txt"'],
    ['say "hi"\\', 'attachment; filename="say \\"hi\\"_"'],
    ["../../etc/passwd", 'attachment; filename=".._.._etc_passwd"'],
    ["a\r\nSet-Cookie: x=1", 'attachment; filename="aSet-Cookie: x=1"'],
    ["\u202egpj.exe", 'attachment; filename="gpj.exe"'],
    ["", 'attachment; filename="0xroot"'],
    ["\r\n", 'attachment; filename="0xroot"'],
    [
      "naïve (1)'*.txt",
      `attachment; filename="na_ve (1)'*.txt"; filename*=UTF-8''na%C3%AFve%20%281%29%27%2A.txt`,
    ],
    ["100 %.txt", 'attachment; filename="100 %.txt"'],
    ["50%25%2f.txt", `attachment; filename="50_25_2f.txt"; filename*=UTF-8''50%2525%252f.txt`],
    ["\ud800", `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
  ])("%j", (name, header) => {
    expect(attachment(name, "0xroot")).toBe(header);
  });

  test("has at most 255 characters", () => {
    expect(attachment("n".repeat(1_000), "x")).toBe(`attachment; filename="${"n".repeat(255)}"`);
  });
});

describe("the type of a file", () => {
  test.each([
    ["hello world", "text/plain; charset=utf-8"],
    ["naïve", "text/plain; charset=utf-8"],
    ["<!DOCTYPE html><script>alert(1)</script>", "text/plain; charset=utf-8"],
    ["<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "text/plain; charset=utf-8"],
    ["a\0b", "application/octet-stream"],
    ["", "application/octet-stream"],
    ["%PDF-1.7", "application/pdf"],
  ])("%j", (text, type) => {
    expect(sniffType(Buffer.from(text))).toBe(type);
  });

  test("is text even when the inspected prefix ends within a character", () => {
    expect(sniffType(Buffer.from(`${"a".repeat(511)}é`))).toBe("text/plain; charset=utf-8");
    expect(sniffType(Buffer.from([0xff, 0xfe, 0xfd]))).toBe("application/octet-stream");
    expect(sniffType(Buffer.from("89504e470d0a1a0a", "hex"))).toBe("image/png");
  });
});
