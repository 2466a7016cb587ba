import { AppError } from "../../../kernel/errors.ts";
import { invalidField } from "../../body/invalid-field.ts";
import { candidateModel, forwardedBody, type RequestFields } from "../../body/request-fields.ts";
import type { NativeForm } from "../../chat/answer-translation.ts";
import { TextMeter } from "../../chat/text-meter.ts";
import type { Profile } from "../../providers/profile.ts";
import type { FormatNeeds } from "../../routing/choice-context.ts";
import type { KeptResponse } from "./kept-responses.service.ts";
import { readNativeResponse } from "./native-answer.ts";
import { NativeResponseEvents } from "./native-events.ts";
import { withoutReferences } from "./own-items.ts";

/** Assumed characters per token of text that is not counted. */
const CHARACTERS_PER_TOKEN = 4;

/** A request as the client sent it, for providers that have its format. */
export type NativeRequest = RequestFields & {
  /** Why it cannot be sent as a chat; undefined if it can. */
  readonly untranslatable: AppError | undefined;
  /** The characters that a chat leaves out. */
  readonly hiddenLength: number;
  /** Whether text that only its author can read is in the input, or expected of the answer. */
  readonly encrypted: FormatNeeds["encrypted"];
  /** Whether the provider is to keep the response, so that another request can continue it. */
  readonly isKept: boolean;
  /** The id of the response that the request continues, as the client names it. */
  readonly previousId: string | undefined;
  /** Whether what a stream repeats of the request is too long for its events. */
  readonly isTooLong: boolean;
};

/**
 * How a provider that has the format of responses serves a request: it is sent the client's own body, and keeps the
 * response only if the client wants that. A kept response has `id` for the client, which leads to its provider and its
 * account; `previous` is the response that the request continues.
 */
export function nativeForm(
  request: NativeRequest,
  { id, previous }: { readonly id?: string; readonly previous?: KeptResponse | undefined } = {},
): NativeForm {
  const { isKept, previousId, hiddenLength, isTooLong, untranslatable } = request;
  const names = {
    ...(isKept && id !== undefined && { id }),
    ...(previous && { previous_response_id: previousId }),
  };
  const needsState = isKept || previousId !== undefined;
  const isServedBy = ({ formats, keepsResponses }: Profile) =>
    formats.includes("responses") && !isTooLong && (!needsState || keepsResponses === true);
  const serves = (profile: Profile) =>
    isServedBy(profile) || (untranslatable === undefined && profile.formats.includes("openai"));
  return {
    format: "responses",
    path: "/responses",
    needs: { failure: failureOf(request, previous), serves, encrypted: request.encrypted },
    isServedBy,
    moreTokens: Math.ceil(hiddenLength / CHARACTERS_PER_TOKEN) + (previous?.tokens ?? 0),
    body(provider, maxTokens) {
      const { store, max_output_tokens: limit, input } = request.fields;
      const own = withoutReferences(input);
      return forwardedBody(request, {
        ...candidateModel(request, provider),
        ...(own && { input: own }),
        ...(typeof store !== "boolean" && { store: false }),
        ...(previous && { previous_response_id: previous.responseId }),
        ...((limit === undefined || limit === null) && { max_output_tokens: maxTokens }),
      });
    },
    read: (answer, bounds, bodies) => readNativeResponse(answer, { ...bounds, names }, bodies),
    reader: (bounds, bodies) => new NativeResponseEvents({ ...bounds, names }, new TextMeter(bodies)),
  };
}

/** The failure of a request whose conversation is with a provider that is no longer available. */
export function goneProvider(cause?: AppError): AppError {
  return new AppError(
    "no_available_provider",
    "The provider that keeps the previous response no longer serves it.",
    { param: "previous_response_id", cause },
  );
}

function failureOf(
  { isTooLong, untranslatable }: NativeRequest,
  previous: KeptResponse | undefined,
): AppError | undefined {
  if (isTooLong)
    return invalidField(
      "instructions",
      "too long to be streamed with the tools by the providers of this model",
    );
  return previous ? goneProvider() : untranslatable;
}
