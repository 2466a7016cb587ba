import { Group, SimpleGrid, Title } from "@mantine/core";
import { createContext, type ReactNode, useEffect, useId } from "react";

/** A page: its title, also of the window, what is above it, its purpose, its actions and its content. */
export function Page({
  title,
  above,
  about,
  actions,
  children,
}: {
  title: string;
  above?: ReactNode;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · zerograph`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <div>
          {above}
          <Title order={1}>{title}</Title>
          {about && <div className="about">{about}</div>}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </header>
      <div className="page-body">{children}</div>
    </>
  );
}

/** The title of the section around a component. */
export const SectionTitle = createContext<string | undefined>(undefined);

/** A part of a page under a heading of its own, on a card. */
export function Section({
  title,
  about,
  actions,
  children,
  isFlush = false,
}: {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** For a table as the only content, which then reaches the edges of the card. */
  isFlush?: boolean;
}) {
  const heading = useId();
  return (
    <section className={isFlush ? "card flush" : "card"} aria-labelledby={heading}>
      <header className="card-head">
        <div>
          <Title order={2} id={heading}>
            {title}
          </Title>
          {about && <div className="about">{about}</div>}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </header>
      <SectionTitle value={title}>
        <div className="card-body">{children}</div>
      </SectionTitle>
    </section>
  );
}

/** Sections beside each other where there is room. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className="columns">{children}</div>;
}

/** A row of figures: its children are `Stat`. */
export function Stats({ children }: { children: ReactNode }) {
  return (
    <SimpleGrid component="dl" className="stats" cols={{ base: 2, md: 4 }} spacing={{ base: "sm", sm: "md" }}>
      {children}
    </SimpleGrid>
  );
}

/** A figure with its name, and what it means or how it changes below it. */
export function Stat({ label, hint, children }: { label: string; hint?: ReactNode; children: ReactNode }) {
  return (
    <div className="stat">
      <dt>{label}</dt>
      <dd className="stat-value">{children}</dd>
      {hint && <dd className="stat-hint">{hint}</dd>}
    </div>
  );
}

/** Names with their values: the children are `Pair`. */
export function Pairs({ children }: { children: ReactNode }) {
  return <dl className="pairs">{children}</dl>;
}

/** A name with its value. */
export function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
