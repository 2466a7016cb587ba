import { Modal } from "@mantine/core";
import { useRouter } from "@tanstack/react-router";
import { Command } from "cmdk";
import Search from "lucide-react/icons/search";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { usePages } from "../routes/use-pages.ts";
import { useFound } from "./palette-sources.ts";

const DOCS = [
  { name: "GraphQL explorer", href: "/graphql" },
  { name: "REST reference", href: "/docs/" },
  { name: "OpenAPI description", href: "/openapi.json" },
];

/** Focused as soon as it exists, so that text typed right away is not lost: the dialog moves the focus a moment later. */
function focus(input: HTMLInputElement | null): void {
  input?.focus();
}

/** Finds pages, documents and what the pages find, such as a request by its id. */
export function Palette({ onClose }: { onClose(): void }) {
  const router = useRouter();
  const pages = usePages();
  const [text, setText] = useState("");
  const found = useFound(text.trim());
  const [selected, setSelected] = useState("");
  useEffect(() => {
    // What is found arrives after the palette chose among its own entries: it is selected only if none of them matches.
    const [first] = found;
    const searched = text.trim().toLowerCase();
    const isOwn = [...pages, ...DOCS].some(({ name }) => name.toLowerCase().includes(searched));
    if (first?.items[0] && !isOwn) setSelected(`${first.heading} ${first.items[0].id}`);
  }, [found, text, pages]);
  const before = useRef(document.activeElement);
  useLayoutEffect(
    () => () => {
      if (before.current instanceof HTMLElement) before.current.focus();
    },
    [],
  );
  const go = (path: string) => {
    // The page takes the focus, not what had it before.
    before.current = document.getElementById("main");
    onClose();
    router.history.push(`/dashboard${path}`);
  };
  return (
    <Modal.Root
      opened
      onClose={onClose}
      size="lg"
      returnFocus={false}
      yOffset="12vh"
      transitionProps={{ duration: 0 }}
    >
      <Modal.Overlay backgroundOpacity={0.4} blur={2} />
      <Modal.Content aria-label="Search" className="palette" radius="lg">
        <Command label="Search" loop value={selected} onValueChange={setSelected}>
          <div className="palette-input">
            <Search size={17} aria-hidden="true" />
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="Pages, keys, models, requests by id, docs…"
              ref={focus}
              data-autofocus
              maxLength={200}
            />
          </div>
          <Command.List>
            <Command.Empty>Nothing found.</Command.Empty>
            {found.map(({ heading, items }) => (
              <Command.Group key={heading} heading={heading} forceMount>
                {items.map(({ id, name, detail, to, href }) => (
                  <Command.Item
                    key={id}
                    value={`${heading} ${id}`}
                    forceMount
                    onSelect={() => (href === undefined ? go(to) : location.assign(href))}
                  >
                    <span className="palette-name">{name}</span>
                    {detail && <span className="quiet">{detail}</span>}
                  </Command.Item>
                ))}
              </Command.Group>
            ))}
            <Command.Group heading="Pages">
              {pages.map(({ name, to, icon: Icon }) => (
                <Command.Item key={to} value={name} onSelect={() => go(to)}>
                  <Icon size={16} aria-hidden="true" /> {name}
                </Command.Item>
              ))}
            </Command.Group>
            <Command.Group heading="Documents">
              {DOCS.map(({ name, href }) => (
                <Command.Item key={href} value={name} onSelect={() => location.assign(href)}>
                  {name}
                </Command.Item>
              ))}
            </Command.Group>
          </Command.List>
        </Command>
      </Modal.Content>
    </Modal.Root>
  );
}
