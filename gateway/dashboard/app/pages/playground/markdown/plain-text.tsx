import { memo } from "react";
import { headOf } from "./text-head.ts";
import { TextRest } from "./text-rest.tsx";

/** A text as it is written, as code or as a paragraph: its head, if it is very long. */
export function PlainText({ text, isCode = false }: { text: string; isCode?: boolean }) {
  const shown = headOf(text);
  return (
    <>
      <Shown text={shown} isCode={isCode} />
      <TextRest text={text} shown={shown} />
    </>
  );
}

const Shown = memo(function Shown({ text, isCode }: { text: string; isCode: boolean }) {
  if (!isCode) return <p>{text}</p>;
  return (
    <pre>
      <code>{text}</code>
    </pre>
  );
});
