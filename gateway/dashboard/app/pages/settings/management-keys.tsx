import { Button } from "@mantine/core";
import Plus from "lucide-react/icons/plus";
import { useState } from "react";
import { useWatch } from "react-hook-form";
import { useMutation } from "urql";
import * as z from "zod";
import { useList } from "../../data/list/use-list.ts";
import { graphql, resultOf } from "../../data/query/graph.ts";
import { ChecksField, SelectField } from "../../parts/form/fields.tsx";
import { KeyActions, KeyDialogs, type OpenDialog } from "../../parts/form/key-dialogs.tsx";
import { MAX_NAME_LENGTH, text } from "../../parts/form/texts.ts";
import { Section } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";
import type { Column } from "../../parts/table/column.ts";
import { ListTable } from "../../parts/table/list-table.tsx";
import { Live, StateBadge } from "../../parts/value/state-badge.tsx";
import { Time } from "../../parts/value/time.tsx";

const KEYS = graphql(`
  query ManagementKeys($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
    viewer {
      account {
        managementKeys(first: $first, last: $last, after: $after, before: $before) {
          nodes { id name preview scopes preset status createdAt lastUsedAt lastSourceIp }
          pageInfo { hasNextPage endCursor hasPreviousPage startCursor }
        }
      }
    }
  }
`);
const CHANGED = graphql(
  "subscription ManagementKeysChanged($after: Cursor) { keyChanged(after: $after) { cursor } }",
);
const CREATE = graphql(`
  mutation CreateManagementKey($input: CreateManagementKeyInput!) {
    createManagementKey(input: $input) { secret managementKey { id } userErrors { field message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateManagementKey($input: UpdateManagementKeyInput!) {
    updateManagementKey(input: $input) { managementKey { id } userErrors { field message } }
  }
`);
const REVOKE = graphql(`
  mutation RevokeManagementKey($input: RevokeManagementKeyInput!) {
    revokeManagementKey(input: $input) { managementKey { id } userErrors { field message } }
  }
`);

const PRESETS = {
  READ_ONLY: "Read-only",
  KEY_MANAGER: "Key Manager",
  FULL_ADMIN: "Full Admin",
  CUSTOM: "Custom",
} as const;
const SCOPES = {
  ACCOUNT_READ: "Read balance, usage and requests",
  KEYS_READ: "List API keys",
  KEYS_CREATE: "Create API keys",
  KEYS_MANAGE: "Change and revoke API keys",
} as const;

const scopes = z.enum(["ACCOUNT_READ", "KEYS_READ", "KEYS_CREATE", "KEYS_MANAGE"]);
const schema = z
  .object({
    name: text(MAX_NAME_LENGTH, "A name, by which you know the key again."),
    preset: z.enum(["READ_ONLY", "KEY_MANAGER", "FULL_ADMIN", "CUSTOM"]),
    scopes: z.array(scopes),
  })
  .refine(({ preset, scopes: chosen }) => preset !== "CUSTOM" || chosen.length > 0, {
    path: ["scopes"],
    message: "Choose at least one permission.",
  })
  .transform(({ name, preset, scopes: chosen }) =>
    preset === "CUSTOM" ? { name, scopes: chosen } : { name, preset },
  );

type Key = {
  readonly id: string;
  readonly name: string;
  readonly preview: string;
  readonly status: string;
  readonly preset: keyof typeof PRESETS;
  readonly scopes: readonly (keyof typeof SCOPES)[];
  readonly lastUsedAt: string | null;
  readonly lastSourceIp: string | null;
};

/** The keys with which programs read the account or manage its API keys. */
export function ManagementKeys() {
  const list = useList({
    query: KEYS,
    pick: ({ viewer }) => viewer?.account?.managementKeys,
    changes: CHANGED,
    isOldestFirst: true,
  });
  const [open, setOpen] = useState<OpenDialog<Key>>();
  return (
    <>
      <Section
        title="Management keys"
        about="Management keys (mk-...) let your programs read this account and manage its API keys. They cannot spend, and do not expire."
        actions={
          <>
            {list.liveness && <Live liveness={list.liveness} />}
            <Button leftSection={<Plus size={16} />} onClick={() => setOpen({ kind: "create" })}>
              Create a management key
            </Button>
          </>
        }
        isFlush
      >
        <ListTable
          label="Management keys"
          list={list}
          columns={columnsOf(setOpen)}
          keyOf={({ id }) => id}
          empty={<EmptyState title="No management keys yet." />}
        />
      </Section>
      <Dialogs open={open} onOpen={setOpen} />
    </>
  );
}

function columnsOf(onOpen: (open: OpenDialog<Key>) => void): readonly Column<Key>[] {
  return [
    { id: "name", name: "Name", cell: ({ name }) => <strong className="user-text">{name}</strong> },
    { id: "key", name: "Key", cell: ({ preview }) => <code>{preview}</code> },
    { id: "state", name: "State", cell: ({ status }) => <StateBadge state={status} /> },
    { id: "preset", name: "Preset", cell: ({ preset }) => PRESETS[preset] },
    {
      id: "permissions",
      name: "Permissions",
      cell: (key) => key.scopes.map((scope) => scope.toLowerCase().replace("_", ":")).join(", "),
    },
    { id: "lastUsed", name: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { id: "from", name: "From", cell: ({ lastSourceIp }) => lastSourceIp && <code>{lastSourceIp}</code> },
    { id: "actions", name: "", cell: (key) => <KeyActions of={key} onOpen={onOpen} /> },
  ];
}

function Dialogs({
  open,
  onOpen,
}: {
  open: OpenDialog<Key> | undefined;
  onOpen(open: OpenDialog<Key> | undefined): void;
}) {
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, revoke] = useMutation(REVOKE);
  return (
    <KeyDialogs
      open={open}
      onOpen={onOpen}
      what="a management key"
      schema={schema}
      valuesOf={(given) => ({
        name: given?.name ?? "",
        preset: given?.preset ?? "READ_ONLY",
        scopes: [...(given?.scopes ?? [])],
      })}
      fields={() => <ScopeFields />}
      create={async (terms) => {
        const made = await create({ input: terms });
        return resultOf(made.data?.createManagementKey, made.error).secret ?? "";
      }}
      update={async ({ id }, changes) => {
        const done = await update({ input: { id, ...changes } });
        resultOf(done.data?.updateManagementKey, done.error);
      }}
      revoke={async ({ id }) => {
        const done = await revoke({ input: { id } });
        resultOf(done.data?.revokeManagementKey, done.error);
      }}
      consequence={() => <p>Programs that use it are refused at once. This cannot be undone.</p>}
    />
  );
}

function ScopeFields() {
  const preset: string = useWatch({ name: "preset" });
  return (
    <>
      <SelectField label="Preset" name="preset" options={PRESETS} />
      {preset === "CUSTOM" && <ChecksField label="Permissions" name="scopes" options={SCOPES} />}
    </>
  );
}
