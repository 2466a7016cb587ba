/** An answer of the REST API. */
export type RestReply<T> = { readonly status: number; readonly headers: Headers; readonly body: T };

/** Calls an endpoint with a credential; a body is posted as JSON unless it is a string. */
export async function rest<T>(
  origin: string,
  path: string,
  secret?: string,
  { method, body, headers = {} }: { method?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<RestReply<T>> {
  const reply = await fetch(origin + path, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, body: text === "" ? ({} as T) : JSON.parse(text) };
}

/** The body of a failure. */
export type RestFailure = {
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null };
};
