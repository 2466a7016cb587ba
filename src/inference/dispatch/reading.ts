import type { Usage } from "../billing/pricing.ts";
import type { Edit } from "../body/json-member.ts";

/** The billed usage of an answer, the provider's own id of the answer, and why it ended, as the provider stated it. */
export type Reading = {
  readonly usage: Usage;
  readonly estimated: boolean;
  readonly answerId?: string | undefined;
  readonly finishReason?: string | undefined;
  /** Hashes the decoded images of the answer, in order. */
  readonly imageHashes?: (() => Promise<readonly string[]>) | undefined;
  /** Changes to the provider's answer for the client, such as the billed usage. */
  readonly edits?: readonly Edit[];
  /** The answer in the client's format, where that is not the provider's. */
  readonly body?: Buffer;
};
