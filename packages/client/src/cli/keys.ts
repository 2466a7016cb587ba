import { ZerographError } from "../core/errors.ts";
import type { Command } from "./command.ts";
import { UsageError } from "./exit.ts";
import { send, sendForJson } from "./rest.ts";
import { required } from "./settings.ts";

type Key = {
  readonly key_id: string;
  readonly name: string;
  readonly status: string;
  readonly last_used_at: string | null;
};
type Created = Key & { readonly key: string };
type Page = { readonly data: readonly Key[]; readonly next_cursor?: string | null };

const PAGE = 100;
const USAGE = "zerograph keys list | create <name> | revoke <id>";

/** `keys`: lists, creates and revokes `sk-` keys with a management key. */
export const command: Command = async ({ words: [what, given, ...rest], settings, print }) => {
  const isList = what === "list" && given === undefined;
  const takesWord = (what === "create" || what === "revoke") && !!given && rest.length === 0;
  if (!isList && !takesWord) throw new UsageError(USAGE);
  const credential = required(
    settings.managementKey,
    "ZEROGRAPH_MANAGEMENT_KEY",
    "an mk- key with the scopes keys:read, keys:create and keys:manage, as you need them",
  );
  const keys = `${settings.url}/v1/api-keys`;
  if (isList) {
    const found = await listKeys(keys, credential);
    print(found, () => found.map(toLine).join("\n") || "There are no keys.");
  } else if (what === "create") {
    const body = { name: given };
    const created = await sendForJson<Created>(keys, "key", { method: "POST", credential, body });
    print(
      created,
      () => `${created.key}\nThe secret is shown once: store it now.`,
      `The key ${created.key_id} exists, but its secret is lost: revoke it.`,
    );
  } else {
    await send(`${keys}/${encodeURIComponent(given ?? "")}`, { method: "DELETE", credential });
    print({ key_id: given, status: "revoked" }, () => `${given} is revoked.`);
  }
  return 0;
};

/** Throws `invalid_answer` for pages that do not end. */
async function listKeys(url: string, credential: string): Promise<readonly Key[]> {
  const found: Key[] = [];
  const cursors = new Set<string>();
  for (let cursor = ""; ; ) {
    const query = new URLSearchParams({ limit: String(PAGE), ...(cursor !== "" && { cursor }) });
    const { data, next_cursor: next } = await sendForJson<Page>(`${url}?${query}`, "data", { credential });
    found.push(...data);
    if (!next) return found;
    if (cursors.has(next))
      throw new ZerographError("invalid_answer", "The gateway lists the same keys again.");
    cursors.add(next);
    cursor = next;
  }
}

function toLine({ key_id: id, name, status, last_used_at: used }: Key): string {
  return `${id}  ${status.padEnd(8)}  ${used ? `used ${used}` : "never used"}  ${name}`;
}
