import { AppError } from "../errors.ts";

/** The headers of a part of a form, as far as they are read. */
export type PartHeaders = {
  readonly name: string;
  readonly filename?: string | undefined;
  readonly contentType?: string | undefined;
};

const TOKEN = "[!#$%&'*+.^_`|~\\w-]+";
const LINE = new RegExp(`^(${TOKEN}):[ \\t]*([^\\r\\n\\0]*)$`);
const PARAMETER = new RegExp(`[ \\t]*;[ \\t]*(${TOKEN})=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;"]+))`, "y");
const DISPOSITION = /^form-data(?=[ \t]*;)/i;
const END = /^[ \t]*;?[ \t]*$/;
/** RFC 5987: a character set, a language, and the text with percent signs. */
const EXTENDED = /^(utf-8|iso-8859-1)'[^']*'([^']*)$/i;

/**
 * Reads the header lines of a part (RFC 7578 4.2). The form is forwarded as it is, so the parser of a provider must find
 * the same name: otherwise a field could be hidden from the rules and the bill of the router. Headers that parsers read
 * differently are therefore malformed: a repeated header or parameter, a folded line, and an encoded name. Throws
 * `invalid_body`.
 */
export function readPartHeaders(text: string): PartHeaders {
  const headers = new Map<string, string>();
  for (const line of text.split("\r\n")) {
    const [, name = "", value = ""] = LINE.exec(line) ?? [];
    if (name === "") throw malformed("a part has a malformed header");
    if (headers.has(name.toLowerCase())) throw malformed("a part has a repeated header");
    headers.set(name.toLowerCase(), value);
  }
  const parameters = readParameters(headers.get("content-disposition") ?? "");
  const name = parameters.get("name");
  if (name === undefined) throw malformed("a part has no name");
  const extended = parameters.get("filename*");
  const filename = extended === undefined ? parameters.get("filename") : decoded(extended);
  const contentType = headers.get("content-type");
  return {
    name,
    ...(filename !== undefined && { filename }),
    ...(contentType !== undefined && { contentType }),
  };
}

/** The parameters of a `Content-Disposition`, none if it is not that of a part of a form. */
function readParameters(disposition: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  const [type] = DISPOSITION.exec(disposition) ?? [];
  if (type === undefined) return parameters;
  let at = type.length;
  for (;;) {
    PARAMETER.lastIndex = at;
    const [whole, token = "", quoted, bare = ""] = PARAMETER.exec(disposition) ?? [];
    if (whole === undefined) break;
    const parameter = token.toLowerCase();
    const isEncodedName = /^(?:name\*|filename\*.)/.test(parameter);
    if (isEncodedName || parameters.has(parameter)) throw malformed("a part has an ambiguous name");
    parameters.set(parameter, quoted?.replace(/\\(.)/g, "$1") ?? bare);
    at += whole.length;
  }
  if (!END.test(disposition.slice(at))) throw malformed("a part has a malformed Content-Disposition");
  return parameters;
}

/** The file name that a `filename*` states, which some clients send for characters outside ASCII. */
function decoded(extended: string): string {
  const [, charset, text = ""] = EXTENDED.exec(extended) ?? [];
  try {
    if (charset?.toLowerCase() === "utf-8") return decodeURIComponent(text);
    if (charset !== undefined)
      return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
  } catch {}
  throw malformed("a part has a malformed file name");
}

function malformed(what: string): AppError {
  return new AppError("invalid_body", `The form is not well-formed: ${what}.`, { param: "body" });
}
