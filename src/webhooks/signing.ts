import { createHmac, hkdfSync } from "node:crypto";

/** Which secret of a webhook: its id, and the number of the secret from 1. */
export type SecretVersion = { readonly id: string; readonly version: number };

const PREFIX = "whsec_";

/**
 * The secrets that sign deliveries (Standard Webhooks 1.0: `whsec_` and 32 bytes in base64). They are not stored: each
 * is an HMAC-SHA256, under a key of this deployment, of the webhook's id and the number of the secret.
 */
export class SigningSecrets {
  readonly #key: Buffer;

  /** `secret` is specific to the deployment, at least 32 bytes of text. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "zerograph webhook secrets", 32));
  }

  /** A secret, as its owner receives it. */
  show(version: SecretVersion): string {
    return PREFIX + this.#derive(version).toString("base64");
  }

  /**
   * The headers of a delivery, signed with each of these secrets (Standard Webhooks, "Webhook headers"). `body` is
   * signed as it is sent.
   */
  headersOf(
    message: { readonly id: string; readonly at: Date; readonly body: string },
    versions: readonly SecretVersion[],
  ): Record<string, string> {
    const timestamp = String(Math.floor(message.at.getTime() / 1_000));
    const signed = `${message.id}.${timestamp}.${message.body}`;
    const signatures = versions.map(
      (version) => `v1,${createHmac("sha256", this.#derive(version)).update(signed).digest("base64")}`,
    );
    return {
      "webhook-id": message.id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signatures.join(" "),
    };
  }

  #derive({ id, version }: SecretVersion): Buffer {
    return createHmac("sha256", this.#key).update(`${id} ${version}`).digest();
  }
}
