import { Button, Group } from "@mantine/core";
import MessagesSquare from "lucide-react/icons/messages-square";
import SlidersHorizontal from "lucide-react/icons/sliders-horizontal";
import Trash2 from "lucide-react/icons/trash-2";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { FormProvider } from "react-hook-form";
import { EmptyState } from "../../../parts/page/states.tsx";
import { CodeButton } from "../api/code-button.tsx";
import { usePlaygroundKey } from "../key/playground-key.tsx";
import { type ChatModel, takesEffort, toChatRequest } from "./chat-request.ts";
import { Composer, type Draft } from "./composer.tsx";
import { messagesOf, type ToolResults, type Turn } from "./conversation.ts";
import { ConversationStore } from "./conversation-store.ts";
import { ModelRow } from "./model-row.tsx";
import { ParameterPanel, type ProviderOption } from "./parameter-panel.tsx";
import { changedCount, type Parameters, parametersFor } from "./parameters.ts";
import { TurnList } from "./turn-list.tsx";
import { useDraft } from "./use-draft.ts";
import { useModelChoice } from "./use-model-choice.ts";
import { useParameters } from "./use-parameters.ts";

/** A model that chats, as the graph lists it. */
export type PlaygroundModel = ChatModel & {
  readonly inputModalities: readonly string[] | null;
  readonly providers: readonly ProviderOption[];
};

const NO_DRAFT: Draft = { text: "", images: [] };

/** A conversation with one to four models beside each other. */
export function Chat({ address, models }: { address: string; models: readonly PlaygroundModel[] }) {
  const [store] = useState(() => new ConversationStore(address));
  // Not the turns, which change while an answer comes: the composer and the parameters stay as they are.
  const isComing = useSyncExternalStore(store.subscribe, () => store.current().isComing);
  const isEmpty = useSyncExternalStore(store.subscribe, () => store.current().turns.length === 0);
  const [draft, setDraft] = useDraft(address);
  const [chosen, choose] = useModelChoice(
    address,
    models.map(({ modelId }) => modelId),
  );
  const { form, read } = useParameters(address);
  const [isOpen, setOpen] = useState(false);
  const { take, countAnswer } = usePlaygroundKey();
  const end = useRef<HTMLDivElement>(null);
  // Work for a page that was left stops.
  useEffect(() => {
    const leave = () => store.leave();
    addEventListener("beforeunload", leave);
    return () => {
      removeEventListener("beforeunload", leave);
      store.stop();
    };
  }, [store]);
  const selected = chosen.flatMap((id) => models.find(({ modelId }) => modelId === id) ?? []);
  const sendingOf = (column: number, parameters: Parameters) => {
    const model = selected[column] ?? selected[0];
    if (!model) return [];
    const request = (now: readonly Turn[]) =>
      toChatRequest(model, messagesOf(now, column), parametersFor(parameters, model.providers));
    return [{ column, model: model.modelId, request, key: take }];
  };
  const withParameters = async (act: (parameters: Parameters) => Promise<void>) => {
    const parameters = await read();
    if (!parameters) return setOpen(true);
    await act(parameters);
    countAnswer();
  };
  const ask = () =>
    withParameters(async (parameters) => {
      setDraft(NO_DRAFT);
      const answered = store.ask(
        draft.text,
        draft.images,
        selected.flatMap((_, n) => sendingOf(n, parameters)),
      );
      requestAnimationFrame(() => end.current?.scrollIntoView({ block: "end" }));
      await answered;
    });
  const again = (column: number) =>
    withParameters(async (parameters) => {
      for (const sending of sendingOf(column, parameters)) await store.answerAgain(sending);
    });
  const give = (column: number, results: ToolResults) =>
    withParameters(async (parameters) => {
      for (const sending of sendingOf(column, parameters)) await store.giveResults(results, sending);
    });
  const edit = () => {
    const last = store.takeBack();
    if (last) setDraft({ text: last.text, images: last.images });
    document.querySelector<HTMLTextAreaElement>(".composer textarea")?.focus();
  };
  const remove = (column: number) => {
    store.removeColumn(column);
    choose(chosen.filter((_, n) => n !== column));
  };
  const code = async () => {
    const parameters = await read();
    if (!parameters) {
      setOpen(true);
      return undefined;
    }
    const now = withDraft(store.current().turns, draft);
    return selected.map((model, n) => ({
      name: model.modelId,
      request: toChatRequest(model, messagesOf(now, n), parametersFor(parameters, model.providers)),
    }));
  };
  const changed = changedCount(form.watch());
  const readsNoImages = selected.filter(({ inputModalities: read }) => read && !read.includes("image"));
  return (
    <div className="chat">
      <div className="chat-main">
        <div className="chat-tools">
          <ModelRow
            all={models.map(({ modelId }) => modelId)}
            chosen={chosen}
            onChange={choose}
            onRemove={remove}
            isBusy={isComing}
          />
          <Group gap="xs">
            <Button
              className="parameter-toggle"
              variant="default"
              leftSection={<SlidersHorizontal size={15} />}
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
            >
              Parameters{changed > 0 && ` (${changed})`}
            </Button>
            <CodeButton read={code} />
            <Button
              variant="default"
              leftSection={<Trash2 size={15} />}
              disabled={isEmpty}
              onClick={() => store.clear()}
            >
              Clear
            </Button>
          </Group>
        </div>
        {isEmpty ? (
          <EmptyState icon={<MessagesSquare size={20} />} title="Ask a model something.">
            <p>
              The conversation stays in this browser until you clear it or sign out. Compare up to four models
              side by side.
            </p>
          </EmptyState>
        ) : (
          <TurnList
            store={store}
            end={end}
            onEdit={edit}
            onAgain={(column) => void again(column)}
            onResults={(column, results) => void give(column, results)}
          />
        )}
        <Composer
          draft={draft}
          onChange={setDraft}
          isComing={isComing}
          onSend={() => void ask()}
          onStop={() => store.stop()}
          imageNote={
            readsNoImages.length > 0
              ? `${readsNoImages.map(({ modelId }) => modelId).join(", ")} may not read images: only text is listed.`
              : undefined
          }
        />
        <div ref={end} />
      </div>
      <aside className={isOpen ? "card parameters open" : "card parameters"} aria-label="Parameters">
        <FormProvider {...form}>
          <form onSubmit={(event) => event.preventDefault()} noValidate>
            <ParameterPanel takesEffort={selected.some(takesEffort)} providers={providersOf(selected)} />
          </form>
        </FormProvider>
      </aside>
    </div>
  );
}

/** The turns with the question that is being written; without one, those whose last answer is still to come. */
function withDraft(turns: readonly Turn[], { text, images }: Draft): readonly Turn[] {
  if (text.trim() !== "" || images.length > 0) return [...turns, { id: "draft", text, images, columns: [] }];
  const last = turns.at(-1);
  return last
    ? [...turns.slice(0, -1), { ...last, columns: [] }]
    : [{ id: "draft", text: "Hello", images, columns: [] }];
}

function providersOf(models: readonly PlaygroundModel[]): readonly ProviderOption[] {
  const all = new Map(models.flatMap(({ providers }) => providers.map((one) => [one.address, one])));
  return [...all.values()];
}
