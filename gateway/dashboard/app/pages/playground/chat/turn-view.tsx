import { Button } from "@mantine/core";
import Pencil from "lucide-react/icons/pencil";
import { memo, useRef } from "react";
import { PlainText } from "../markdown/plain-text.tsx";
import { AnswerView } from "./answer-view.tsx";
import { openCalls, type Reply, type ToolResults, type Turn } from "./conversation.ts";
import { ToolResultForm, ToolResultView } from "./tool-results.tsx";

/** What can be done with the last question. */
export type TurnActions = {
  onEdit(): void;
  onAgain(column: number): void;
  onResults(column: number, results: ToolResults): void;
};

/** A question and the answers of all columns, beside each other. `actions` is undefined for earlier questions. */
export const TurnView = memo(function TurnView({
  turn,
  actions,
}: {
  turn: Turn;
  actions: TurnActions | undefined;
}) {
  const { text, images, columns } = turn;
  return (
    <li className="turn">
      <div className="question">
        {images.length > 0 && (
          <div className="question-images">
            {images.map((url, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the images of a question do not change.
              <img key={n} src={url} alt={`Attachment ${n + 1} of the question`} />
            ))}
          </div>
        )}
        <PlainText text={text} />
        {actions && (
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            leftSection={<Pencil size={12} />}
            onClick={actions.onEdit}
          >
            Edit
          </Button>
        )}
      </div>
      <div className="answers" data-columns={columns.length}>
        {columns.map((replies, column) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place.
          <Column key={column} replies={replies} column={column} actions={actions} />
        ))}
      </div>
    </li>
  );
});

/** What one model replied. It takes the focus from a button that starts another answer, and is gone then. */
function Column({
  replies,
  column,
  actions,
}: {
  replies: readonly Reply[];
  column: number;
  actions: TurnActions | undefined;
}) {
  const place = useRef<HTMLDivElement>(null);
  const calls = actions ? openCalls(replies) : [];
  const takeFocus = () => place.current?.focus({ preventScroll: true });
  const again = () => {
    takeFocus();
    actions?.onAgain(column);
  };
  return (
    <div ref={place} className="answers-column" tabIndex={-1}>
      {replies.map((reply, n) =>
        reply.kind === "results" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: replies only grow at their end.
          <ToolResultView key={n} of={reply} />
        ) : (
          <AnswerView
            // biome-ignore lint/suspicious/noArrayIndexKey: replies only grow at their end.
            key={n}
            answer={reply}
            onAgain={actions && n === replies.length - 1 ? again : undefined}
          />
        ),
      )}
      {calls.length > 0 && actions && (
        <ToolResultForm
          calls={calls}
          onSend={(results) => {
            takeFocus();
            actions.onResults(column, results);
          }}
        />
      )}
    </div>
  );
}
