import { Tabs } from "@mantine/core";
import { type RefObject, useRef, useState } from "react";
import { CopyButton } from "../value/copyable.tsx";

/** `shown` stands for the code where that is too long to read; a copy has all of it. */
type Snippet = { readonly name: string; readonly code: string; readonly shown?: string };

/** Code to copy, under a bar with the button; several snippets, such as of a language each, are tabs in the bar. */
export function CodeSnippet({ label, snippets }: { label: string; snippets: readonly Snippet[] }) {
  const output = useRef<HTMLPreElement>(null);
  const [chosen, setChosen] = useState(snippets[0]?.name ?? "");
  const snippet = snippets.find(({ name }) => name === chosen) ?? snippets[0];
  if (!snippet) return null;
  const copy = (
    <div className="snippet-copy">
      {/* Another snippet has not been copied yet. */}
      <CopyButton key={snippet.name} text={snippet.code} element={() => output.current} />
    </div>
  );
  if (snippets.length === 1)
    return (
      <div className="snippet">
        <div className="snippet-bar">
          <span className="quiet">{snippet.name}</span>
          {copy}
        </div>
        <Code {...snippet} label={label} output={output} />
      </div>
    );
  return (
    <Tabs
      value={snippet.name}
      onChange={(name) => setChosen(name ?? "")}
      className="snippet"
      keepMounted={false}
    >
      <div className="snippet-bar">
        <Tabs.List aria-label={label}>
          {snippets.map(({ name }) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {copy}
      </div>
      {snippets.map((one) => (
        <Tabs.Panel key={one.name} value={one.name}>
          <Code {...one} label={`${label}: ${one.name}`} output={output} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

type CodeProps = Snippet & {
  readonly label: string;
  readonly output: RefObject<HTMLPreElement | null>;
};

function Code({ code, shown = code, label, output }: CodeProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it.
    <section className="snippet-text" tabIndex={0} aria-label={label}>
      <pre ref={output} className={shown.includes("\n") ? undefined : "one-line"}>
        <code>{shown}</code>
      </pre>
    </section>
  );
}
