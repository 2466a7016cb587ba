import { useState } from "react";
import { useMutation, useQuery } from "urql";
import { graphql, reasonOf } from "../graph.ts";
import { useLive } from "../live.ts";
import { useSession } from "../session.tsx";
import { ActionButton, Button, Choice, Confirm, Dialog, Field, Form } from "../ui/controls.tsx";
import { usePages } from "../ui/pages.tsx";
import { SecretDialog } from "../ui/secret.tsx";
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
  mutation CreateManagementKey($name: String!, $preset: ManagementPreset, $scopes: [ManagementScope!]) {
    createManagementKey(name: $name, preset: $preset, scopes: $scopes) { secret managementKey { id } }
  }
`);
const UPDATE = graphql(`
  mutation UpdateManagementKey($id: ID!, $name: String, $preset: ManagementPreset, $scopes: [ManagementScope!]) {
    updateManagementKey(id: $id, name: $name, preset: $preset, scopes: $scopes) { id }
  }
`);
const REVOKE = graphql("mutation RevokeManagementKey($id: ID!) { revokeManagementKey(id: $id) { id } }");

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
  readonly preset: Preset;
  readonly scopes: readonly Scope[];
};

/** Management keys, and this session. */
export function SettingsPage() {
  const { signOut } = useSession();
  const pages = usePages();
  const [{ data, error, fetching }, ask] = useQuery({ query: KEYS, variables: { after: pages.after } });
  const liveness = useLive(CHANGED, {}, () => ask({ requestPolicy: "network-only" }));
  const [open, setOpen] = useState<
    { kind: "create" } | { kind: "edit" | "revoke"; key: Key } | { kind: "secret"; secret: string }
  >();
  const [, create] = useMutation(CREATE);
  const [, update] = useMutation(UPDATE);
  const [, revoke] = useMutation(REVOKE);
  const close = () => setOpen(undefined);
  const keys = data?.viewer.account?.managementKeys;
  return (
    <Page title="Settings" actions={<Live liveness={liveness} />}>
      <Card title="This session">
        <p>
          Signed in as <code className="selectable">{data?.viewer.account?.address}</code> until{" "}
          <Time at={data?.viewer.session?.expiresAt} />.
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
          An mk- key reads this account or manages its API keys for a program of yours. It cannot spend, and
          it does not expire.
        </p>
        <Outcome rows={keys?.nodes} error={error} fetching={fetching} empty="There is no management key.">
          {(rows) => (
            <Table
              label="Management keys"
              heads={["Name", "Key", "State", "Preset", "May", "Last used", "From", ""]}
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
                    {key.status === "ACTIVE" && (
                      <>
                        <Button
                          onClick={() => setOpen({ kind: "edit", key })}
                          aria-label={`Edit ${key.name}`}
                        >
                          Edit
                        </Button>
                        <Button
                          kind="danger"
                          onClick={() => setOpen({ kind: "revoke", key })}
                          aria-label={`Revoke ${key.name}`}
                        >
                          Revoke
                        </Button>
                      </>
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </Outcome>
        {pages.pager(keys?.pageInfo)}
      </Card>
      {open?.kind === "create" && (
        <KeyDialog
          title="Create a management key"
          label="Create"
          onClose={close}
          send={async (terms) => {
            const made = await create(terms);
            if (!made.data?.createManagementKey) throw new Error(reasonOf(made.error));
            setOpen({ kind: "secret", secret: made.data.createManagementKey.secret });
          }}
        />
      )}
      {open?.kind === "edit" && (
        <KeyDialog
          title={`Edit ${open.key.name}`}
          label="Save"
          given={open.key}
          onClose={close}
          send={async (terms) => {
            const done = await update({ id: open.key.id, ...terms });
            if (!done.data?.updateManagementKey) throw new Error(reasonOf(done.error));
            close();
          }}
        />
      )}
      {open?.kind === "secret" && <SecretDialog secret={open.secret} onClose={close} />}
      {open?.kind === "revoke" && (
        <Confirm
          title={`Revoke ${open.key.name}?`}
          label="Revoke"
          onClose={close}
          act={async () => {
            const done = await revoke({ id: open.key.id });
            if (!done.data?.revokeManagementKey) throw new Error(reasonOf(done.error));
          }}
        >
          <p>Programs that use it are refused at once. This cannot be taken back.</p>
        </Confirm>
      )}
    </Page>
  );
}

type Terms = { name: string; preset?: Preset; scopes?: Scope[] };

function KeyDialog({
  title,
  label,
  given,
  send,
  onClose,
}: {
  title: string;
  label: string;
  given?: Key;
  send(terms: Terms): Promise<void>;
  onClose(): void;
}) {
  const [preset, setPreset] = useState<Preset>(given?.preset ?? "READ_ONLY");
  return (
    <Dialog title={title} onClose={onClose}>
      <Form
        label={label}
        send={async (form) => {
          const name = String(form.get("name")).trim();
          if (preset !== "CUSTOM") return send({ name, preset });
          const scopes = form.getAll("scope").map(String) as Scope[];
          if (scopes.length === 0) throw new Error("Choose at least one thing that the key may do.");
          return send({ name, scopes });
        }}
      >
        <Field label="Name" name="name" required maxLength={64} defaultValue={given?.name} autoFocus />
        <Choice
          label="Preset"
          options={PRESETS}
          value={preset}
          onChange={(event) => setPreset(event.currentTarget.value as Preset)}
        />
        {preset === "CUSTOM" && (
          <fieldset>
            <legend>It may</legend>
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
      </Form>
    </Dialog>
  );
}
