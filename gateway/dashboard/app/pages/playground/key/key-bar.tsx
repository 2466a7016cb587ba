import { Button, Group, Text } from "@mantine/core";
import KeyRound from "lucide-react/icons/key-round";
import { useRef, useState } from "react";
import * as z from "zod";
import { SESSION_KEY_LIMIT } from "../../../data/session/session-key.ts";
import { ActionButton } from "../../../parts/form/action-button.tsx";
import { Dialog } from "../../../parts/form/dialog.tsx";
import { SecretField } from "../../../parts/form/fields.tsx";
import { GraphForm } from "../../../parts/form/form.tsx";
import { Note } from "../../../parts/page/states.tsx";
import { Amount } from "../../../parts/value/amount.tsx";
import { Time } from "../../../parts/value/time.tsx";
import { usePlaygroundKey } from "./playground-key.tsx";
import { useKeyUsage } from "./use-key-usage.ts";

/** Which key pays the requests of the page, what it may still spend, and how to use another. */
export function KeyBar() {
  const { secret, isEntered, answeredCount, enter, renew } = usePlaygroundKey();
  const usage = useKeyUsage(secret, answeredCount);
  const [isAsking, setAsking] = useState(false);
  const another = useRef<HTMLButtonElement>(null);
  const goBack = () => {
    // The button for it is gone then.
    another.current?.focus();
    enter(undefined);
  };
  return (
    <section className="key-bar" aria-label="Key of this page">
      <KeyRound size={16} aria-hidden="true" />
      <div className="key-bar-text">
        {secret ? (
          <>
            <strong>{isEntered ? (usage?.label ?? "Your key") : "Session key"}</strong>{" "}
            <code>{secret.slice(0, 8)}…</code>
            {usage?.limit !== undefined && usage.remaining !== undefined && (
              <span>
                {" "}
                <Amount neuron={usage.remaining} /> of <Amount neuron={usage.limit} /> left
              </span>
            )}
            {usage && usage.limit === undefined && <span> without a limit</span>}
            {usage?.expiresAt && (
              <span className="quiet">
                , expires <Time at={usage.expiresAt} />
              </span>
            )}
          </>
        ) : (
          <span>
            Your first request creates a <strong>session key</strong> that can spend{" "}
            <Amount neuron={SESSION_KEY_LIMIT} />. Signing out revokes it.
          </span>
        )}
      </div>
      <Group gap="xs">
        {isEntered ? (
          <Button size="compact-sm" variant="default" onClick={goBack}>
            Use the session key
          </Button>
        ) : (
          secret && (
            <ActionButton size="compact-sm" act={renew} done="There is a new session key.">
              New session key
            </ActionButton>
          )
        )}
        <Button ref={another} size="compact-sm" variant="default" onClick={() => setAsking(true)}>
          Use another key
        </Button>
      </Group>
      {isAsking && <AnotherKey onClose={() => setAsking(false)} />}
    </section>
  );
}

const schema = z.object({
  secret: z
    .string()
    .trim()
    .regex(/^sk-\S+$/, "An API key starts with sk-."),
});

function AnotherKey({ onClose }: { onClose(): void }) {
  const { enter } = usePlaygroundKey();
  return (
    <Dialog title="Use another key" onClose={onClose}>
      <Text mb="md">
        Requests of this page are then billed and limited as those of this key. It stays in the memory of this
        page: leaving or reloading it forgets the key.
      </Text>
      <GraphForm
        label="Use this key"
        schema={schema}
        defaultValues={{ secret: "" }}
        send={async ({ secret }) => {
          enter(secret);
          onClose();
        }}
      >
        <SecretField label="API key" name="secret" required />
      </GraphForm>
      <Note>Keep keys of your servers out of browsers where you can.</Note>
    </Dialog>
  );
}
