import { Button, Group } from "@mantine/core";
import RotateCcw from "lucide-react/icons/rotate-ccw";
import { useRef } from "react";
import { CopyButton } from "../../../parts/value/copyable.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import { BillLine } from "../api/bill-line.tsx";
import { FailureNote } from "../api/failure-note.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { PlainText } from "../markdown/plain-text.tsx";
import { MAX_SHOWN } from "../markdown/text-head.ts";
import { tokensPerSecond } from "./answer-reader.ts";
import type { Answer } from "./conversation.ts";

/** An answer: its text, the tools that it calls, what it cost and how quickly it came. */
export function AnswerView({ answer, onAgain }: { answer: Answer; onAgain: (() => void) | undefined }) {
  const { model, state, text, reasoning, toolCalls, failure, bill, requestId } = answer;
  const output = useRef<HTMLDivElement>(null);
  const isWaiting = state === "coming" && text === "" && reasoning === "" && toolCalls.length === 0;
  return (
    <article className="answer" aria-label={`Answer of ${model}`} aria-busy={state === "coming"}>
      <header className="answer-head">
        <strong>{model}</strong>
        {state === "coming" && <Pill tone="running">{isWaiting ? "waiting" : "answering"}</Pill>}
        {state === "stopped" && <Pill tone="calm">stopped</Pill>}
      </header>
      {reasoning && (
        <details className="reasoning" open={state === "coming" && text === ""}>
          <summary>Reasoning</summary>
          <PlainText text={reasoning} />
        </details>
      )}
      {text && (
        <div ref={output}>
          <Markdown text={state === "complete" ? withJson(text) : text} />
        </div>
      )}
      {toolCalls.map(({ id, name, argumentsJson }, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a provider may send calls without ids.
        <div key={`${id}${n}`} className="tool-call">
          <p>
            Calls <code>{name}</code> with
          </p>
          <PlainText isCode text={formatted(argumentsJson)} />
        </div>
      ))}
      {failure && <FailureNote failure={failure} onRetry={onAgain} />}
      {state !== "coming" && (
        <BillLine bill={bill} requestId={bill?.requestId ?? requestId}>
          <Facts answer={answer} />
        </BillLine>
      )}
      {state !== "coming" && !failure && (text !== "" || onAgain) && (
        <Group gap="xs">
          {text && <CopyButton text={text} element={() => output.current} />}
          {onAgain && (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<RotateCcw size={13} />}
              onClick={onAgain}
              aria-label={`Regenerate with ${model}`}
            >
              Regenerate
            </Button>
          )}
        </Group>
      )}
    </article>
  );
}

function Facts({ answer }: { answer: Answer }) {
  const { inputTokens, outputTokens, firstTokenMs } = answer;
  const speed = tokensPerSecond(answer);
  return (
    <>
      {inputTokens !== undefined && <span>{inputTokens.toLocaleString("en")} tokens in</span>}
      {outputTokens !== undefined && <span>{outputTokens.toLocaleString("en")} out</span>}
      {firstTokenMs !== undefined && (
        <span>first after {Math.round(firstTokenMs).toLocaleString("en")} ms</span>
      )}
      {speed !== undefined && <span>{speed < 10 ? speed.toFixed(1) : Math.round(speed)} tokens/s</span>}
    </>
  );
}

/** A text that is JSON alone, as a structured answer is, as a block of code. */
function withJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  const json = formatted(text);
  return json === text ? text : `\`\`\`json\n${json}\n\`\`\``;
}

/** JSON, indented unless it is too long to be shown whole. */
function formatted(json: string): string {
  if (json.length > MAX_SHOWN) return json;
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
