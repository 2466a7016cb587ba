import { Link } from "@tanstack/react-router";
import { Page } from "../../parts/page/page.tsx";
import { EmptyState } from "../../parts/page/states.tsx";

/** For a URL that no page has. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <EmptyState title="The dashboard has no page at this address.">
        <Link to="/">Go to the overview.</Link>
      </EmptyState>
    </Page>
  );
}
