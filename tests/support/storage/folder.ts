const MAGIC = "a8795aa6b5ee8997448d47d3135f70f45e2d3502f8002edeef242ebd0458e7f5";

/** The manifest of a folder as a client writes it; `tree` may be anything, and a string is used as it is. */
export function encodeFolder(tree: unknown, version = 2): Buffer {
  const json = typeof tree === "string" ? tree : JSON.stringify(tree);
  const head = Buffer.alloc(2);
  head.writeUInt16BE(version);
  return Buffer.concat([Buffer.from(MAGIC, "hex"), head, Buffer.from(json)]);
}
