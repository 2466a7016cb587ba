import { Group } from "@mantine/core";
import { useQuery } from "urql";
import { graphql } from "../../data/query/graph.ts";
import { useSession } from "../../data/session/session.tsx";
import { ActionButton } from "../../parts/form/action-button.tsx";
import { Page, Section } from "../../parts/page/page.tsx";
import { FullTime } from "../../parts/value/clock-time.tsx";
import { ManagementKeys } from "./management-keys.tsx";

const SESSION = graphql("query SettingsSession { viewer { session { expiresAt } account { address } } }");

/** Management keys, and the current session. */
export function SettingsPage() {
  const { signOut } = useSession();
  const [{ data }] = useQuery({ query: SESSION });
  return (
    <Page title="Settings">
      <Section title="This session">
        <p>
          Signed in as <code className="selectable">{data?.viewer?.account?.address}</code>; the session ends{" "}
          <FullTime at={data?.viewer?.session?.expiresAt} />.
        </p>
        <Group gap="xs">
          <ActionButton act={() => signOut()}>Sign out here</ActionButton>
          <ActionButton color="red" variant="light" act={() => signOut(true)}>
            Sign out everywhere
          </ActionButton>
        </Group>
      </Section>
      <ManagementKeys />
    </Page>
  );
}
