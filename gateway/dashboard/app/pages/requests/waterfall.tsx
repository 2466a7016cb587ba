import { Hash } from "../../parts/hash.tsx";
import { Section } from "../../parts/page.tsx";
import { Note } from "../../parts/states.tsx";
import { inTime, phasesOf, totalMsOf } from "./phases.ts";
import type { Request } from "./request-query.ts";

/** Where the time of a request went. */
export function Waterfall({ of: request }: { of: Request }) {
  const phases = phasesOf(request);
  const total = Math.max(1, totalMsOf(request));
  if (request.status === "RUNNING")
    return (
      <Section title="Timeline">
        <p>The request is running. Its attempts are recorded when it ends.</p>
      </Section>
    );
  return (
    <Section
      title="Timeline"
      about={`From the arrival of the request to the end of the provider's answer: ${inTime(totalMsOf(request))}.`}
    >
      {request.cachedFrom !== null && <p>A stored answer was returned: no provider was called.</p>}
      {phases.length > 0 ? (
        <ol className="waterfall">
          {phases.map(({ name, provider, startMs, endMs, tone, detail }) => (
            <li key={`${name}${startMs}`}>
              <span className="waterfall-name">
                <strong>{name}</strong> {provider && <Hash of={provider} />}
              </span>
              <span className="waterfall-track">
                <svg
                  width="100%"
                  height="14"
                  viewBox="0 0 100 14"
                  preserveAspectRatio="none"
                  aria-hidden="true"
                >
                  <rect
                    className={tone}
                    x={(startMs / total) * 100}
                    width={Math.max(0.6, ((endMs - startMs) / total) * 100)}
                    y="2"
                    height="10"
                  />
                </svg>
              </span>
              <span className="waterfall-time figure">{inTime(endMs - startMs)}</span>
              <span className="waterfall-detail quiet">
                {detail}
                {startMs > 0 && `, after ${inTime(startMs)}`}
              </span>
            </li>
          ))}
        </ol>
      ) : (
        <p>No provider was tried.</p>
      )}
      <Note>
        The charge is recorded before the last byte is sent: the last phase includes its settlement.
      </Note>
    </Section>
  );
}
