import { Component, type ReactNode } from "react";
import { Button, Failure } from "./controls.tsx";

/** Shows that a page failed to load or to draw, in its place, with a way to load it anew. `Frame` stays usable. */
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
        {/* From anew: a browser may remember that a part failed, and the parts of another version have other names. */}
        <Button kind="primary" onClick={() => location.reload()}>
          Load it again
        </Button>
      </>
    );
  }
}
