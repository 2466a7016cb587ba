import { Button, Text } from "@mantine/core";
import { Component, type ReactNode, useEffect } from "react";
import { PartMissing, untilBack } from "../../data/query/fetch-again.ts";
import { Failure } from "../../parts/page/states.tsx";

/**
 * In place of a page that failed to load or to render: what happened, and a button to load it again. If the gateway was
 * away, the page is loaded again when it is back.
 */
export function PageFailure({ error }: { error: unknown }) {
  const isMissing = error instanceof PartMissing;
  useEffect(() => {
    if (!isMissing) return;
    const left = new AbortController();
    untilBack(left.signal).then(
      (wasAway) => wasAway && location.reload(),
      () => {},
    );
    return () => left.abort();
  }, [isMissing]);
  return (
    <div className="page-failure">
      <Failure reason={isMissing ? "This page could not be loaded." : "This page failed."} />
      <Text c="dimmed" my="sm">
        {isMissing
          ? "A part of it did not arrive, although it was requested again: the network is down, or the gateway was updated since you opened the dashboard."
          : "An error of the dashboard itself, which is in the browser's console. Your data is not affected."}
      </Text>
      {/* A full reload: a browser may cache a failed module, and the modules of another version have other names. */}
      <Button onClick={() => location.reload()}>Reload the page</Button>
    </div>
  );
}

/** Shows `PageFailure` in place of everything, for a failure outside the pages. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error("unknown") };
  }

  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <main>
        <PageFailure error={this.state.error} />
      </main>
    );
  }
}
