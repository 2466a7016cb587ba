import { Link } from "@tanstack/react-router";
import { useSession } from "../../data/session.tsx";
import { CodeSnippet } from "../../parts/code-snippet.tsx";
import { Section } from "../../parts/page.tsx";

/** The first three steps of a new user. */
export function FirstSteps() {
  const { network } = useSession();
  const base = `${location.origin}/v1`;
  return (
    <Section title="Your first request">
      <ol className="timeline">
        <li>
          <Link to="/deposits">Deposit</Link>
          {network?.networkId === "devnet" && ": the development wallet has done so already"}.
        </li>
        <li>
          <Link to="/keys">Create an API key</Link>, and give it to any OpenAI client with this base URL:
        </li>
        <li>
          Or try it here, in the <Link to="/playground">playground</Link>.
        </li>
      </ol>
      <CodeSnippet label="Base URL" snippets={[{ name: "Base URL", code: base }]} />
    </Section>
  );
}
