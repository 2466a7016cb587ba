import { Button } from "@mantine/core";
import Pencil from "lucide-react/icons/pencil";
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
export function TurnView({ turn, actions }: { turn: Turn; actions: TurnActions | undefined }) {
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
        <p>{text}</p>
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
          <div key={column} className="answers-column">
            <Replies replies={replies} column={column} actions={actions} />
          </div>
        ))}
      </div>
    </li>
  );
}

function Replies({
  replies,
  column,
  actions,
}: {
  replies: readonly Reply[];
  column: number;
  actions: TurnActions | undefined;
}) {
  const calls = actions ? openCalls(replies) : [];
  return (
    <>
      {replies.map((reply, n) =>
        reply.kind === "results" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: replies only grow at their end.
          <ToolResultView key={n} of={reply} />
        ) : (
          <AnswerView
            // biome-ignore lint/suspicious/noArrayIndexKey: replies only grow at their end.
            key={n}
            answer={reply}
            onAgain={actions && n === replies.length - 1 ? () => actions.onAgain(column) : undefined}
          />
        ),
      )}
      {calls.length > 0 && actions && (
        <ToolResultForm calls={calls} onSend={(results) => actions.onResults(column, results)} />
      )}
    </>
  );
}
