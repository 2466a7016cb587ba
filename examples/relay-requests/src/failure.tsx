import { Component, type ReactNode } from "react";
import { Problem } from "./view.tsx";

/** Shows why a query failed, in the place of what it is for. */
export class Failure extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    return this.state.error ? <Problem error={this.state.error} /> : this.props.children;
  }
}
