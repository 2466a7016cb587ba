import { Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import { Hash } from "../../parts/value/hash.tsx";
import { inTime, phasesOf, totalMsOf } from "./phases.ts";
import type { Request } from "./request-query.ts";

/** The shortest bar. */
const LEAST_PX = 3;

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
                <span className={`waterfall-bar ${tone}`} style={placeOf(startMs / total, endMs / total)} />
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

/** Where a bar is on its track, by the parts of the whole at which it begins and ends: it is always seen. */
function placeOf(start: number, end: number): { readonly left: string; readonly width: string } {
  return {
    left: `min(${(start * 100).toFixed(2)}%, calc(100% - ${LEAST_PX}px))`,
    width: `max(${((end - start) * 100).toFixed(2)}%, ${LEAST_PX}px)`,
  };
}
