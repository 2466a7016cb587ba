import { randomUUID } from "node:crypto";
import { type Form, readForm } from "./form.ts";

/** The input of an endpoint; `usageJson` and `chunks` come from the behaviour. */
type EndpointCall = {
  readonly body: Buffer;
  readonly contentType: string;
  readonly usageJson?: string | undefined;
  readonly chunks?: number | undefined;
};

/** The result of an endpoint. `responseKey` is the key of its signature, for `ZG-Res-Key`. */
export type EndpointAnswer =
  | {
      readonly kind: "whole";
      readonly contentType: string;
      readonly content: string | Buffer;
      readonly responseKey: string;
    }
  | { readonly kind: "events"; readonly events: readonly string[]; readonly responseKey: string }
  | { readonly kind: "refused"; readonly reason: string };

/** An endpoint: it reads a request and generates a response. */
export type Endpoint = (call: EndpointCall) => EndpointAnswer | Promise<EndpointAnswer>;

/** What a provider offers, as its endpoints need it. */
export type Offer = {
  readonly model: string;
  readonly countTokens: (messages: readonly unknown[]) => number | Promise<number>;
  /** Whether the provider caches prompts, and reports what it read from its cache. */
  readonly cachesPrompts?: boolean;
};

/** The media type of most answers. */
export const JSON_TYPE = "application/json";

/** A JSON answer with a new key. */
export function whole(text: string): EndpointAnswer {
  return { kind: "whole", contentType: JSON_TYPE, content: text, responseKey: `answer-${randomUUID()}` };
}

/** The answer to an invalid request. */
export function refused(reason: string): EndpointAnswer {
  return { kind: "refused", reason };
}

/** The answer to a request for another model. */
export function notServed(model: string): EndpointAnswer {
  return refused(`model ${model} is not served here`);
}

/** The form of a multipart body; undefined if it is not one, or invalid. */
export async function formOf(body: Buffer, contentType: string): Promise<Form | undefined> {
  return contentType.startsWith("multipart/form-data")
    ? readForm(body, contentType).catch(() => undefined)
    : undefined;
}

/** The value of a JSON body; undefined if it is invalid. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
