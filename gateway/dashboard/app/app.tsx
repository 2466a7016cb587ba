import { type ComponentType, lazy, type ReactNode, Suspense, useEffect } from "react";
import { loadAgain } from "./fetch-again.ts";
import { OverviewPage } from "./pages/overview.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { Link, usePlace } from "./router.tsx";
import { useSession } from "./session.tsx";
import { Button, Failure } from "./ui/controls.tsx";
import { PageBoundary } from "./ui/page-boundary.tsx";
import { Hash, Loading, Page } from "./ui/show.tsx";

const ApiKeysPage = page(async () => (await import("./pages/api-keys.tsx")).ApiKeysPage);
const SettingsPage = page(async () => (await import("./pages/settings.tsx")).SettingsPage);
const PlaygroundPage = page(async () => (await import("./pages/playground.tsx")).PlaygroundPage);
const JobsPage = page(async () => (await import("./pages/jobs.tsx")).JobsPage);
const RequestsPage = page(async () => (await import("./pages/requests.tsx")).RequestsPage);
const DepositsPage = page(async () => (await import("./pages/deposits.tsx")).DepositsPage);
const WebhooksPage = page(async () => (await import("./pages/webhooks.tsx")).WebhooksPage);
const TokensPage = page(async () => (await import("./pages/tokens.tsx")).TokensPage);
const StoragePage = page(async () => (await import("./pages/storage.tsx")).StoragePage);
const NodePage = page(async () => (await import("./pages/node.tsx")).NodePage);
const ProvidersPage = page(async () => (await import("./pages/providers.tsx")).ProvidersPage);
const NetworkPage = page(async () => (await import("./pages/network.tsx")).NetworkPage);

function page<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadAgain(load) }));
}

type Route = {
  readonly path: string;
  readonly name: string;
  readonly page: (rest: string | undefined) => ReactNode;
};

const ROUTES: readonly Route[] = [
  { path: "/", name: "Overview", page: () => <OverviewPage /> },
  { path: "/playground", name: "Playground", page: () => <PlaygroundPage /> },
  { path: "/keys", name: "API keys", page: () => <ApiKeysPage /> },
  { path: "/requests", name: "Requests", page: (id) => <RequestsPage id={id} /> },
  { path: "/jobs", name: "Jobs", page: (id) => <JobsPage id={id} /> },
  { path: "/deposits", name: "Deposits", page: () => <DepositsPage /> },
  { path: "/webhooks", name: "Webhooks", page: () => <WebhooksPage /> },
  { path: "/tokens", name: "Tokens", page: () => <TokensPage /> },
  { path: "/storage", name: "Storage", page: (root) => <StoragePage root={root} /> },
  { path: "/providers", name: "Providers", page: () => <ProvidersPage /> },
  { path: "/network", name: "Network", page: () => <NetworkPage /> },
  { path: "/node", name: "Node", page: () => <NodePage /> },
  { path: "/settings", name: "Settings", page: () => <SettingsPage /> },
];

/** The dashboard: the sign-in page without a session, otherwise the page of the URL. */
export function App() {
  const { address, failure, network } = useSession();
  const { path } = usePlace();
  const found = ROUTES.find(
    (route) => route.path === path || (route.path !== "/" && path.startsWith(`${route.path}/`)),
  );
  useEffect(() => {
    // On a narrow screen the navigation is a row that scrolls.
    if (address)
      document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    document.title = `${found?.name ?? "Not found"} · zerograph`;
  }, [found, address]);
  if (failure) return <Frame>{<Failure reason={failure} />}</Frame>;
  if (address === undefined || !network) return <Frame>{<Loading />}</Frame>;
  if (address === null) return <SignInPage />;
  return (
    <Frame address={address}>
      <PageBoundary key={found?.path}>
        <Suspense fallback={<Loading />}>
          {found?.page(path.slice(found.path.length + 1) || undefined) ?? <NotFound />}
        </Suspense>
      </PageBoundary>
    </Frame>
  );
}

function Frame({ address, children }: { address?: string; children: ReactNode }) {
  const { path } = usePlace();
  const { network, signOut } = useSession();
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <aside>
        <Link to="/" className="brand">
          zerograph
        </Link>
        {network?.networkId === "devnet" && (
          <p className="notice">
            <strong>Development network</strong> Its tokens have no value.
          </p>
        )}
        {address && (
          <>
            <nav aria-label="Pages">
              {ROUTES.map((route) => (
                <Link
                  key={route.path}
                  to={route.path}
                  aria-current={path === route.path || path.startsWith(`${route.path}/`) ? "page" : undefined}
                >
                  {route.name}
                </Link>
              ))}
            </nav>
            <div className="who">
              <Hash of={address} />
              <Button onClick={() => signOut()}>Sign out</Button>
            </div>
          </>
        )}
        <nav aria-label="For developers" className="more">
          <a href="/graphql">Explorer</a>
          <a href="/docs">REST</a>
        </nav>
      </aside>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function NotFound() {
  return (
    <Page title="Page not found">
      <p>
        <Link to="/">Go to the overview.</Link>
      </p>
    </Page>
  );
}
