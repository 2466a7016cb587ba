import { memo, useMemo } from "react";
import { type Block, type Inline, toBlocks } from "./markdown.ts";
import { headOf } from "./text-head.ts";
import { TextRest } from "./text-rest.tsx";

/**
 * A text of a model as Markdown: its head, if it is very long. Only elements of this file are made of it: no HTML, no
 * image, no script.
 */
export function Markdown({ text }: { text: string }) {
  const shown = headOf(text);
  return (
    <>
      <Blocks text={shown} />
      <TextRest text={text} shown={shown} />
    </>
  );
}

const Blocks = memo(function Blocks({ text }: { text: string }) {
  const blocks = useMemo(() => toBlocks(text), [text]);
  return (
    <div className="markdown">
      {blocks.map((block, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text only grows at its end.
        <BlockView key={n} block={block} />
      ))}
    </div>
  );
});

function BlockView({ block }: { block: Block }) {
  switch (block.kind) {
    case "paragraph":
      return (
        <p>
          <Parts of={block.parts} />
        </p>
      );
    case "quote":
      return (
        <blockquote>
          <Parts of={block.parts} />
        </blockquote>
      );
    case "heading":
      // Not a heading of the page: its outline is that of the dashboard.
      return (
        <p className="markdown-heading" data-level={Math.min(4, block.level)}>
          <Parts of={block.parts} />
        </p>
      );
    case "code":
      return (
        <section
          className="markdown-code"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
          tabIndex={0}
          aria-label={block.language ? `Code, ${block.language}` : "Code"}
        >
          <pre>
            <code>{block.text}</code>
          </pre>
        </section>
      );
    case "rule":
      return <hr />;
    case "list":
      return <ListView list={block} />;
    case "table":
      return <TableView table={block} />;
  }
}

function ListView({ list: { items } }: { list: Extract<Block, { kind: "list" }> }) {
  const all = items.map(({ depth, number, parts }, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a list only grows at its end.
    <li key={n} data-depth={depth} className={number === undefined ? "bullet" : "numbered"} value={number}>
      <Parts of={parts} />
    </li>
  ));
  return items[0]?.number === undefined ? <ul>{all}</ul> : <ol>{all}</ol>;
}

function TableView({ table: { head, rows } }: { table: Extract<Block, { kind: "table" }> }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
    <section className="markdown-table" tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map((cell, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity.
              <th key={n} scope="col">
                <Parts of={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
            <tr key={n}>
              {row.map((cell, m) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other identity.
                <td key={m}>
                  <Parts of={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Parts({ of }: { of: readonly Inline[] }) {
  return of.map((part, n) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: parts have no other identity.
    return <Part key={n} part={part} />;
  });
}

function Part({ part }: { part: Inline }) {
  if (part.kind === "text") return part.text;
  if (part.kind === "code") return <code>{part.text}</code>;
  if (part.kind === "link")
    return (
      <a href={part.href} target="_blank" rel="noreferrer noopener">
        {part.text}
      </a>
    );
  return part.kind === "strong" ? <strong>{part.text}</strong> : <em>{part.text}</em>;
}
