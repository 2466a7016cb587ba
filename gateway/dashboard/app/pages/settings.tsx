import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { useLive } from "../../../../packages/client/src/react.ts";
import { graphql, resultOf } from "../graph.ts";
import { useSession } from "../session.tsx";
import { ActionButton, Button, Choice } from "../ui/controls.tsx";
import { KeyActions, KeyDialogs, type OpenDialog } from "../ui/key-dialogs.tsx";
import { usePages } from "../ui/pages.tsx";
import { Badge, Card, Live, Outcome, Page, Table, Time } from "../ui/show.tsx";

const KEYS = graphql(`
  query ManagementKeys($after: Cursor) {
    viewer {
      session { expiresAt }
      account {
        address
        managementKeys(first: 20, after: $after) {
          nodes { id name preview scopes preset status createdAt lastUsedAt lastSourceIp }
          pageInfo { hasNextPage endCursor }
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
    createManagementKey(input: $input) { secret managementKey { id } userErrors { message } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateManagementKey($input: UpdateManagementKeyInput!) {
    updateManagementKey(input: $input) { managementKey { id } userErrors { message } }
  }
`);
const REVOKE = graphql(`
  mutation RevokeManagementKey($input: RevokeManagementKeyInput!) {
    revokeManagementKey(input: $input) { managementKey { id } userErrors { message } }
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
type Preset = keyof typeof PRESETS;
type Scope = keyof typeof SCOPES;
type Key = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly preset: Preset;
  readonly scopes: readonly Scope[];
};

/** Management keys, and the current session. */
export function SettingsPage() {
  const { signOut } = useSession();
  const pages = usePages();
  const [{ data, error, fetching }, refetch] = useQuery({ query: KEYS, variables: { after: pages.after } });
  const liveness = useLive(CHANGED, {}, { onEvent: () => refetch({ requestPolicy: "network-only" }) });
  const [open, setOpen] = useState<OpenDialog<Key>>();
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, revoke] = useMutation(REVOKE);
  const keys = data?.viewer?.account?.managementKeys;
  return (
    <Page title="Settings" actions={<Live liveness={liveness} />}>
      <Card title="This session">
        <p>
          Signed in as <code className="selectable">{data?.viewer?.account?.address}</code> until{" "}
          <Time at={data?.viewer?.session?.expiresAt} />.
        </p>
        <div className="actions">
          <ActionButton act={() => signOut()}>Sign out here</ActionButton>
          <ActionButton kind="danger" act={() => signOut(true)}>
            Sign out everywhere
          </ActionButton>
        </div>
      </Card>
      <Card
        title="Management keys"
        aside={
          <Button kind="primary" onClick={() => setOpen({ kind: "create" })}>
            Create a management key
          </Button>
        }
      >
        <p className="quiet">
          An mk- key reads this account or manages its API keys for your own programs. It cannot spend, and it
          does not expire.
        </p>
        <Outcome rows={keys?.nodes} error={error} fetching={fetching} empty="No management keys yet.">
          {(rows) => (
            <Table
              label="Management keys"
              heads={["Name", "Key", "State", "Preset", "Permissions", "Last used", "From", ""]}
            >
              {rows.map((key) => (
                <tr key={key.id}>
                  <td>{key.name}</td>
                  <td>
                    <code>{key.preview}</code>
                  </td>
                  <td>
                    <Badge state={key.status} />
                  </td>
                  <td>{PRESETS[key.preset]}</td>
                  <td>{key.scopes.map((scope) => scope.toLowerCase().replace("_", ":")).join(", ")}</td>
                  <td>
                    <Time at={key.lastUsedAt} />
                  </td>
                  <td>{key.lastSourceIp && <code>{key.lastSourceIp}</code>}</td>
                  <td className="actions">
                    <KeyActions of={key} onOpen={setOpen} />
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Outcome>
        {pages.pager(keys?.pageInfo)}
      </Card>
      <KeyDialogs
        open={open}
        onOpen={setOpen}
        what="a management key"
        fields={(given) => <ScopeFields given={given} />}
        termsOf={termsOf}
        create={async (terms) => {
          const made = await create({ input: terms });
          return resultOf(made.data?.createManagementKey, made.error).secret ?? "";
        }}
        update={async ({ id }, terms) => {
          const done = await update({ input: { id, ...terms } });
          resultOf(done.data?.updateManagementKey, done.error);
        }}
        revoke={async ({ id }) => {
          const done = await revoke({ input: { id } });
          resultOf(done.data?.revokeManagementKey, done.error);
        }}
        consequence={() => <p>Programs that use it are refused at once. This cannot be undone.</p>}
      />
    </Page>
  );
}

type Terms = { preset?: Preset; scopes?: Scope[] };

function termsOf(form: FormData): Terms {
  const preset = String(form.get("preset")) as Preset;
  if (preset !== "CUSTOM") return { preset };
  const scopes = form.getAll("scope").map(String) as Scope[];
  if (scopes.length === 0) throw new Error("Choose at least one permission.");
  return { scopes };
}

function ScopeFields({ given }: { given: Key | undefined }) {
  const [preset, setPreset] = useState<Preset>(given?.preset ?? "READ_ONLY");
  return (
    <>
      <Choice
        label="Preset"
        name="preset"
        options={PRESETS}
        value={preset}
        onChange={(event) => setPreset(event.currentTarget.value as Preset)}
      />
      {preset === "CUSTOM" && (
        <fieldset>
          <legend>Permissions</legend>
          {Object.entries(SCOPES).map(([scope, text]) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                name="scope"
                value={scope}
                defaultChecked={given?.scopes.includes(scope as Scope)}
              />
              {text}
            </label>
          ))}
        </fieldset>
      )}
    </>
  );
}
