import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { sendForJson } from "./rest.ts";
import { required } from "./settings.ts";

type Webhook = {
  readonly webhook_id: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: string;
  readonly disabled_reason: string | null;
};
type Secret = Webhook & { readonly secret: string };
type Tested = {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly failure: string | null;
  readonly duration_ms: number;
};

const USAGE =
  "zerograph webhooks list | create <url> <event>... [--name <name>] [--threshold <neuron>] | enable <id> | " +
  "disable <id> | delete <id> | test <id> | rotate <id> | replay <id> <cursor>";
/** The arguments of each action: the minimum and the maximum number. */
const WORDS: Readonly<Record<string, readonly [number, number]>> = {
  list: [0, 0],
  create: [2, 64],
  enable: [1, 1],
  disable: [1, 1],
  delete: [1, 1],
  test: [1, 1],
  rotate: [1, 1],
  replay: [2, 2],
};

/**
 * `webhooks`: lists, creates, changes, tests and replays webhooks with a management key. Exit status 1 for a test that
 * was not delivered.
 */
export const command: Command = async ({ words: [what = "", ...given], options, settings, print }) => {
  const [least, most] = (Object.hasOwn(WORDS, what) && WORDS[what]) || [1, 0];
  if (given.length < least || given.length > most || given.includes("")) throw new UsageError(USAGE);
  const [first = "", ...rest] = given;
  const credential = required(
    settings.managementKey,
    "ZEROGRAPH_MANAGEMENT_KEY",
    "an mk- key with the scopes account:read and keys:manage, and keys:read for events of keys",
  );
  const webhooks = `${settings.url}/v1/webhooks`;
  const one = `${webhooks}/${encodeURIComponent(first)}`;
  const post = <T extends object>(url: string, member: keyof T & string, body: object = {}) =>
    sendForJson<T>(url, member, { method: "POST", credential, body });
  switch (what) {
    case "list": {
      const { data } = await sendForJson<{ readonly data: readonly Webhook[] }>(webhooks, "data", {
        credential,
      });
      print(data, () => data.map(toLine).join("\n") || "There are no webhooks.");
      return 0;
    }
    case "create": {
      const { name = hostOf(first), threshold } = options;
      const body = { name, url: first, events: rest, balance_threshold: threshold };
      const created = await post<Secret>(webhooks, "secret", body);
      print(created, () => `${created.webhook_id}\n${secretLines(created)}`, ifLost(created));
      return 0;
    }
    case "test": {
      const result = await post<Tested>(`${one}/test`, "delivered");
      const status = result.status === null ? "no answer" : `status ${result.status}`;
      print(result, () => `${result.failure ?? "delivered"}, ${status}, ${result.duration_ms} ms`);
      return result.delivered ? 0 : 1;
    }
    case "rotate": {
      const rotated = await post<Secret>(`${one}/rotate-secret`, "secret");
      print(rotated, () => secretLines(rotated), ifLost(rotated));
      return 0;
    }
    case "replay": {
      const replayed = await post<Webhook>(`${one}/replay`, "url", { after: rest[0] });
      print(replayed, () => `The events after the cursor are delivered to ${replayed.url} again.`);
      return 0;
    }
    case "delete": {
      const deleted = await sendForJson<{ readonly deleted: boolean }>(one, "deleted", {
        method: "DELETE",
        credential,
      });
      print(deleted, () => `${first} is deleted.`);
      return 0;
    }
    default: {
      const body = { enabled: what === "enable" };
      const changed = await sendForJson<Webhook>(one, "status", { method: "PATCH", credential, body });
      print(changed, () => toLine(changed));
      return 0;
    }
  }
};

function hostOf(url: string): string {
  return URL.parse(url)?.host.slice(0, 100) || "webhook";
}

function secretLines({ secret }: Secret): string {
  return `${secret}\nThe secret is shown once: store it now.`;
}

function ifLost({ webhook_id: id }: Webhook): string {
  return `The webhook ${id} has a new secret, which is lost: rotate it.`;
}

function toLine({ webhook_id: id, status, disabled_reason: reason, url, events }: Webhook): string {
  return `${id}  ${status}${reason === null ? "" : ` (${reason})`}  ${url}  ${events.join(" ")}`;
}
