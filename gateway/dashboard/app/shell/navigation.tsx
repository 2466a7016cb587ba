import { Link } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import BookOpen from "lucide-react/icons/book-open";
import Braces from "lucide-react/icons/braces";
import { useId } from "react";
import { GROUPS } from "./page.ts";
import { usePages } from "./use-pages.ts";

type Entry = { readonly name: string; readonly to: string; readonly icon: LucideIcon };

/** The pages by groups, and the documents for developers. */
export function Navigation() {
  const pages = usePages();
  const grouped = (group: string | undefined): readonly Entry[] =>
    pages.filter((page) => page.group === group);
  return (
    <div className="navigation">
      <nav aria-label="Pages">
        {GROUPS.map((group) => (
          <Entries key={group} title={group} entries={grouped(group)} />
        ))}
        <Entries entries={grouped(undefined)} />
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

function Entries({ title, entries }: { title?: string; entries: readonly Entry[] }) {
  const id = useId();
  if (entries.length === 0) return null;
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
