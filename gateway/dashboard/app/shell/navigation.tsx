import { Link } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import BookOpen from "lucide-react/icons/book-open";
import Braces from "lucide-react/icons/braces";
import { useId, useMemo } from "react";
import type { Group } from "./routes/page.ts";
import { usePages } from "./routes/use-pages.ts";

type Entry = { readonly name: string; readonly to: string; readonly icon: LucideIcon };
type Section = { readonly group: Group | undefined; readonly entries: Entry[] };

/** Pages of one group that follow each other. */
function sectionsOf(pages: ReturnType<typeof usePages>): readonly Section[] {
  return pages.reduce<Section[]>((sections, page) => {
    const group = "group" in page ? page.group : undefined;
    const last = sections.at(-1);
    if (last && last.group === group) last.entries.push(page);
    else sections.push({ group, entries: [page] });
    return sections;
  }, []);
}

/** The pages by groups, and the documents for developers. */
export function Navigation() {
  const pages = usePages();
  const sections = useMemo(() => sectionsOf(pages), [pages]);
  return (
    <div className="navigation">
      <nav aria-label="Pages">
        {sections.map(({ group, entries }) => (
          <Entries key={entries[0]?.to} title={group} entries={entries} />
        ))}
      </nav>
      <nav aria-label="For developers" className="more">
        <a href="/graphql" className="nav-link">
          <Braces size={16} aria-hidden="true" /> GraphQL explorer
        </a>
        <a href="/docs/" className="nav-link">
          <BookOpen size={16} aria-hidden="true" /> REST reference
        </a>
      </nav>
    </div>
  );
}

function Entries({ title, entries }: { title: string | undefined; entries: readonly Entry[] }) {
  const id = useId();
  return (
    <>
      {title && (
        <p className="nav-group" id={id}>
          {title}
        </p>
      )}
      <ul {...(title && { "aria-labelledby": id })}>
        {entries.map(({ name, to, icon: Icon }) => (
          <li key={to}>
            <Link
              to={to as "/"}
              className="nav-link"
              activeOptions={{ exact: to === "/", includeSearch: false }}
              activeProps={{ "aria-current": "page" }}
            >
              <Icon size={16} aria-hidden="true" /> {name}
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}
