import { AppError } from "../../../kernel/errors.ts";
import type { Hex } from "../../../kernel/text/hex.ts";
import type { Spender } from "../../../keys/auth/permissions.ts";
import type { RequestsService } from "../../requests/requests.service.ts";

/** A response that its provider keeps. */
export type KeptResponse = {
  readonly provider: Hex;
  readonly model: string;
  /** The provider's own id of it. */
  readonly responseId: string;
  /** The tokens of the conversation that ends with it. */
  readonly tokens: number;
};

const ID = /^resp_(batch_)?([A-Za-z0-9_-]{1,64})$/;
const NOT_FOUND = "There is no such response that is kept: send the whole conversation as input.";

/** The id for clients of the response to a request. */
export function responseIdOf(requestId: string): string {
  return `resp_${requestId.replace(/^req-/, "")}`;
}

/**
 * Finds the responses that providers keep, by the history of requests: there is no other record of them. A key finds
 * those to its own requests only, as it does in the history.
 */
export class KeptResponsesService {
  readonly #requests: Pick<RequestsService, "find">;

  constructor(requests: Pick<RequestsService, "find">) {
    this.#requests = requests;
  }

  /** The response with this id. Throws `previous_response_not_found` for one that is not kept, or belongs to another key. */
  async find({ account, keyId }: Spender, id: string): Promise<KeptResponse> {
    const [, batch, rest] = ID.exec(id) ?? [];
    const requestId = rest && (batch ? `batch_${rest}` : `req-${rest}`);
    const request = requestId && (await this.#requests.find({ account, keyId }, requestId));
    const responseId = request ? request.routing?.keptResponse : undefined;
    if (!request || responseId === undefined)
      throw new AppError("previous_response_not_found", NOT_FOUND, { param: "previous_response_id" });
    const { provider, model, inputTokens, outputTokens } = request;
    return {
      ...{ provider: provider as Hex, model, responseId },
      tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
    };
  }
}
