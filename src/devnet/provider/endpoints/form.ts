import { Busboy } from "@fastify/busboy";

/**
 * A parsed multipart form: its fields by name, and its files. The last one of a name wins; values of a name that ends
 * with `[]` are joined by commas.
 */
export type Form = {
  readonly fields: ReadonlyMap<string, string>;
  readonly files: ReadonlyMap<string, { readonly filename: string; readonly bytes: Buffer }>;
};

/** Reads a complete multipart body. Throws for an invalid one. */
export function readForm(body: Buffer, contentType: string): Promise<Form> {
  const { promise, resolve, reject } = Promise.withResolvers<Form>();
  const fields = new Map<string, string>();
  const files = new Map<string, { filename: string; bytes: Buffer }>();
  const parser = new Busboy({ headers: { "content-type": contentType } });
  parser.on("field", (name, value) => {
    const earlier = name.endsWith("[]") ? fields.get(name) : undefined;
    fields.set(name, earlier === undefined ? value : `${earlier},${value}`);
  });
  parser.on("file", (name, stream, filename) => {
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => void parts.push(part));
    stream.on("end", () => void files.set(name, { filename, bytes: Buffer.concat(parts) }));
  });
  parser.on("finish", () => resolve({ fields, files }));
  parser.on("error", reject);
  parser.end(body);
  return promise;
}
