/** A file of a form. `bytes` is missing while only the text of the request is wanted. */
type FormFile = { readonly name: string; readonly fileName: string; readonly bytes?: Blob };

/** The same request to the graph: the text of the operation, and its variables. */
export type GraphRequest = {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Whether the operation is a subscription. */
  readonly isStream: boolean;
};

/** A request to the REST API: what is sent, and what "View code" shows. */
export type ApiRequest = {
  /** The path, such as `/v1/chat/completions`. */
  readonly path: string;
  /** Headers besides the key and the content type. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as JSON, or the text fields of a form with `file`. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly file?: FormFile;
  readonly graph: GraphRequest;
};

/** The request that `fetch` takes. Aborting `signal` ends it, and so its work on the server. */
export function toFetch(
  { headers, body, file }: ApiRequest,
  key: string,
  signal: AbortSignal,
): RequestInit & { readonly method: "POST" } {
  const given = { authorization: `Bearer ${key}`, ...headers };
  // The cookie of the session is no part of what a client would send.
  const common = { method: "POST", signal, credentials: "omit" } as const;
  if (!file)
    return {
      ...common,
      headers: { ...given, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  form.append(file.name, file.bytes ?? new Blob([]), file.fileName);
  return { ...common, headers: given, body: form };
}
