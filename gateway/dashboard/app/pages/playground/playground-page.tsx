import { useState } from "react";
import { useMutation, useQuery } from "urql";
import * as z from "zod";
import { toNeuron } from "../../data/amounts.ts";
import { graphql, resultOf } from "../../data/graph.ts";
import { useNetwork } from "../../data/session.tsx";
import { ActionButton } from "../../parts/action-button.tsx";
import { SecretField } from "../../parts/fields.tsx";
import { GraphForm } from "../../parts/form.tsx";
import { Columns, Page, Section } from "../../parts/page.tsx";
import { EmptyState, Outcome } from "../../parts/states.tsx";
import { Chat } from "./chat.tsx";
import { Images } from "./images.tsx";
import { Transcription } from "./transcription.tsx";

const MODELS = graphql(`
  query PlaygroundModels { models(first: 100) { nodes { modelId serviceType } } }
`);
const CREATE = graphql(`
  mutation PlaygroundKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) { secret userErrors { field message } }
  }
`);

const KEY_HOURS = 1;
const KEY_LIMIT = "1";

/** Tries every kind of model with its own API key, which stays in this page's memory and expires. */
export function PlaygroundPage() {
  const [apiKey, setApiKey] = useState<string>();
  const [{ data, error, fetching }, refetch] = useQuery({ query: MODELS });
  return (
    <Page
      title="Playground"
      about="Try models as your users would. Requests from here are billed like any other."
    >
      {apiKey ? (
        <Outcome
          value={data?.models?.nodes}
          error={error}
          fetching={fetching}
          onRetry={() => refetch({ requestPolicy: "network-only" })}
          empty={<EmptyState title="No provider offers a model at the moment." />}
        >
          {(models) => {
            const of = (type: string) =>
              models.filter(({ serviceType }) => serviceType === type).map(({ modelId }) => modelId);
            return (
              <>
                <Chat apiKey={apiKey} models={of("CHATBOT")} />
                <Columns>
                  <Images apiKey={apiKey} models={of("TEXT_TO_IMAGE")} />
                  <Transcription apiKey={apiKey} models={of("SPEECH_TO_TEXT")} />
                </Columns>
              </>
            );
          }}
        </Outcome>
      ) : (
        <KeyCard onKey={setApiKey} />
      )}
    </Page>
  );
}

const schema = z.object({ secret: z.string().trim().startsWith("sk-", "An API key starts with sk-.") });

function KeyCard({ onKey }: { onKey(secret: string): void }) {
  const { symbol } = useNetwork();
  const [, create] = useMutation(CREATE);
  return (
    <Section title="A key for this page">
      <p>
        Requests need an API key. A key for this page expires in {KEY_HOURS} hour, spends at most {KEY_LIMIT}{" "}
        {symbol}, and is discarded when you leave.
      </p>
      <div>
        <ActionButton
          variant="filled"
          act={async () => {
            const expiresAt = new Date(Date.now() + KEY_HOURS * 3_600_000).toISOString();
            const name = `Playground ${new Date().toISOString().slice(0, 19)}`;
            const input = { name, expiresAt, creditLimit: toNeuron(KEY_LIMIT) ?? "0" };
            const made = await create({ input });
            onKey(resultOf(made.data?.createApiKey, made.error).secret ?? "");
          }}
        >
          Create a key for this page
        </ActionButton>
      </div>
      <GraphForm
        label="Use this key"
        schema={schema}
        defaultValues={{ secret: "" }}
        send={async ({ secret }) => onKey(secret)}
      >
        <SecretField label="Or an existing key" name="secret" required />
      </GraphForm>
    </Section>
  );
}
