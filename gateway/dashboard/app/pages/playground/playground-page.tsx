import { Tabs } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import type { ResultOf } from "gql.tada";
import type { ReactNode } from "react";
import { useFilters } from "../../data/list/use-list.ts";
import { useWhole } from "../../data/list/use-whole.ts";
import { graphql } from "../../data/query/graph.ts";
import { useSession } from "../../data/session/session.tsx";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState, Outcome } from "../../parts/page/states.tsx";
import { Chat, type PlaygroundModel } from "./chat/chat.tsx";
import { KeyBar } from "./key/key-bar.tsx";
import { PlaygroundKeyProvider } from "./key/playground-key.tsx";
import { Embeddings } from "./tabs/embeddings.tsx";
import { Images } from "./tabs/images.tsx";
import { Rankings } from "./tabs/rankings.tsx";
import { Responses } from "./tabs/responses.tsx";
import { Speech } from "./tabs/speech.tsx";
import { Transcription } from "./tabs/transcription.tsx";
import "./playground.css";

const MODELS = graphql(`
  query PlaygroundModels($after: Cursor) {
    models(first: 100, after: $after) {
      nodes {
        modelId serviceType
        profile { inputModalities supportedParameters }
        providers { address trustMode }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const EVERY_MODEL = { query: MODELS, pick: ({ models }: ResultOf<typeof MODELS>) => models };
const route = getRouteApi("/playground");

type Model = PlaygroundModel & { readonly serviceType: string };

/** The tabs by their name in the URL. Each gets the models of its kind. */
const TABS: readonly {
  readonly tab: Tab;
  readonly name: string;
  readonly serviceType: string;
  show(models: readonly PlaygroundModel[], address: string): ReactNode;
}[] = [
  {
    tab: "chat",
    name: "Chat",
    serviceType: "CHATBOT",
    show: (models, address) =>
      models.length > 0 ? (
        <Chat address={address} models={models} />
      ) : (
        <EmptyState title="No provider offers chat at the moment." />
      ),
  },
  {
    tab: "responses",
    name: "Responses",
    serviceType: "CHATBOT",
    show: (models) => <Responses models={idsOf(models)} />,
  },
  {
    tab: "images",
    name: "Images",
    serviceType: "TEXT_TO_IMAGE",
    show: (models, address) => <Images address={address} models={idsOf(models)} />,
  },
  {
    tab: "transcription",
    name: "Speech to text",
    serviceType: "SPEECH_TO_TEXT",
    show: (models) => <Transcription models={idsOf(models)} />,
  },
  {
    tab: "speech",
    name: "Text to speech",
    serviceType: "TEXT_TO_SPEECH",
    show: (models) => <Speech models={idsOf(models)} />,
  },
  {
    tab: "rankings",
    name: "Rerank",
    serviceType: "RERANK",
    show: (models) => <Rankings models={idsOf(models)} />,
  },
  {
    tab: "embeddings",
    name: "Embeddings",
    serviceType: "EMBEDDING",
    show: (models) => <Embeddings models={idsOf(models)} />,
  },
];
type Tab = NonNullable<ReturnType<typeof route.useSearch>["tab"]>;

/** Tries every kind of model, with a key of this session. */
export function PlaygroundPage() {
  const { address } = useSession();
  const { tab: chosen = "chat" } = route.useSearch();
  const [, filter] = useFilters<{ tab?: string | undefined }>();
  const { rows, error, load } = useWhole(EVERY_MODEL);
  if (!address) return null;
  return (
    <Page
      title="Playground"
      about="Try models as your users would. Requests from here are billed like any other."
    >
      <PlaygroundKeyProvider key={address} address={address}>
        <KeyBar />
        <Tabs value={chosen} onChange={(tab) => filter({ tab: tab ?? undefined })} keepMounted={false}>
          <Tabs.List className="playground-tabs" aria-label="Kinds of requests">
            {TABS.map(({ tab, name }) => (
              <Tabs.Tab key={tab} value={tab}>
                {name}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {TABS.map(({ tab, serviceType, show }) => (
            <Tabs.Panel key={tab} value={tab} className="playground-panel">
              <Outcome
                value={rows}
                error={error}
                fetching={!rows}
                onRetry={load}
                empty={<EmptyState title="No provider offers a model at the moment." />}
              >
                {(models) =>
                  show(models.filter((model) => model.serviceType === serviceType).map(toModel), address)
                }
              </Outcome>
            </Tabs.Panel>
          ))}
        </Tabs>
      </PlaygroundKeyProvider>
    </Page>
  );
}

type Node = Pick<Model, "modelId" | "providers"> & {
  readonly profile: Pick<Model, "inputModalities" | "supportedParameters"> | null;
};

function toModel({ modelId, providers, profile }: Node): PlaygroundModel {
  return {
    modelId,
    providers,
    inputModalities: profile?.inputModalities ?? null,
    supportedParameters: profile?.supportedParameters ?? null,
  };
}

function idsOf(models: readonly PlaygroundModel[]): readonly string[] {
  return models.map(({ modelId }) => modelId);
}
