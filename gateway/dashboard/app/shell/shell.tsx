import { Burger, Button, Group, Kbd } from "@mantine/core";
import { useDisclosure, useHotkeys, useMediaQuery } from "@mantine/hooks";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import Search from "lucide-react/icons/search";
import { lazy, Suspense, useEffect, useState } from "react";
import { loadAgain } from "../data/query/fetch-again.ts";
import { useNetwork } from "../data/session/session.tsx";
import { Pill } from "../parts/value/state-badge.tsx";
import { Balance } from "./balance.tsx";
import { Navigation } from "./navigation.tsx";

const HeaderMenus = lazy(async () => ({
  default: await loadAgain(async () => (await import("./menus/header-menus.tsx")).HeaderMenus),
}));
const Palette = lazy(async () => ({
  default: await loadAgain(async () => (await import("./palette/palette.tsx")).Palette),
}));

/** What is around every page: the navigation, the header with the balance, and the palette. */
export function Shell() {
  const [isOpen, menu] = useDisclosure(false);
  const [isSearching, setSearching] = useState(false);
  const { pathname } = useLocation();
  const isNarrow = useMediaQuery("(max-width: 61.99em)", undefined, { getInitialValueInEffect: false });
  const { networkId } = useNetwork();
  useHotkeys([["mod+K", () => setSearching(true)]], []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the navigation of a narrow screen.
  useEffect(() => menu.close(), [pathname]);
  const isAway = isNarrow && !isOpen;
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="top">
        <Group gap="xs" wrap="nowrap" className="top-start">
          <Burger
            opened={isOpen}
            onClick={menu.toggle}
            hiddenFrom="md"
            size="sm"
            aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
            aria-expanded={isOpen}
          />
          <Button
            variant="default"
            className="search"
            leftSection={<Search size={15} />}
            onClick={() => setSearching(true)}
            aria-keyshortcuts="Control+K"
          >
            <span>Search</span> <span>pages, requests, docs</span>{" "}
            <Kbd size="xs" className="search-keys" aria-hidden="true">
              Ctrl K
            </Kbd>
          </Button>
        </Group>
        <Group gap="xs" wrap="nowrap" className="top-end">
          {networkId === "devnet" && (
            <span className="devnet" title="The tokens of this network have no value.">
              <Pill tone="plain">
                <span className="devnet-long">Development network</span>
                <span className="devnet-short">devnet</span>
              </Pill>
            </span>
          )}
          <Balance />
          <div className="header-menus">
            <Suspense>
              <HeaderMenus />
            </Suspense>
          </div>
        </Group>
      </header>
      <nav className="side" aria-hidden={isAway || undefined} inert={isAway ?? false}>
        <Group justify="space-between" className="brand-row">
          <Link to="/" className="brand">
            <Logo /> zerograph
          </Link>
          <Burger opened onClick={menu.close} hiddenFrom="md" size="sm" aria-label="Close" />
        </Group>
        <Navigation />
      </nav>
      <main id="main" tabIndex={-1} className="main">
        <div className="content">
          <Outlet />
        </div>
      </main>
      {isSearching && (
        <Suspense>
          <Palette onClose={() => setSearching(false)} />
        </Suspense>
      )}
    </div>
  );
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
      <rect width="32" height="32" rx="9" className="logo-ground" />
      <circle cx="16" cy="16" r="8.5" fill="none" stroke="#fff" strokeWidth="3" />
      <path d="M10 22 22 10" stroke="#fff" strokeWidth="3" strokeLinecap="round" />
    </svg>
  );
}
