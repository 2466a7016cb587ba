import { Tabs } from "@mantine/core";
import { useRef } from "react";
import { CopyButton } from "./copyable.tsx";

/** `shown` stands for the code where that is too long to read; a copy has all of it. */
type Snippet = { readonly name: string; readonly code: string; readonly shown?: string };

/** Code to copy; several snippets, such as of a language each, are tabs. */
export function CodeSnippet({ label, snippets }: { label: string; snippets: readonly Snippet[] }) {
  const [first] = snippets;
  if (!first) return null;
  if (snippets.length === 1)
    return (
      <div className="snippet">
        <Code {...first} label={label} />
      </div>
    );
  return (
    <Tabs defaultValue={first.name} className="snippet" keepMounted={false}>
      <Tabs.List aria-label={label}>
        {snippets.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.name} value={snippet.name}>
          <Code {...snippet} label={`${label}: ${snippet.name}`} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function Code({ code, shown = code, label }: Snippet & { label: string }) {
  const output = useRef<HTMLPreElement>(null);
  return (
    <div className="snippet-code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it. */}
      <section className="snippet-text" tabIndex={0} aria-label={label}>
        <pre ref={output}>
          <code>{shown}</code>
        </pre>
      </section>
      <div className="snippet-copy">
        <CopyButton text={code} element={() => output.current} />
      </div>
    </div>
  );
}
