import { Component, type ReactNode } from "react";
import { Button, Failure } from "./controls.tsx";

/**
 * Shows, in place of a page that failed to load or render, an error and a button to reload it. `Frame` stays usable.
 */
export class PageBoundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <>
        <Failure reason="This page could not be loaded." />
        {/* A full reload: a browser may cache a failed module, and the modules of another version have other names. */}
        <Button kind="primary" onClick={() => location.reload()}>
          Reload the page
        </Button>
      </>
    );
  }
}
