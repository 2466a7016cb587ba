import { Amount } from "../../parts/amount.tsx";
import { Section } from "../../parts/page.tsx";
import { Note } from "../../parts/states.tsx";
import { priceLinesOf } from "./price-lines.ts";
import type { Request } from "./request-query.ts";

/** How the cost came about, line by line. */
export function PriceCard({ of: request }: { of: Request }) {
  const { cost } = request;
  if (!cost)
    return (
      <Section title="Price">
        <p>
          {request.status === "RUNNING"
            ? "Its highest possible cost is held. What it costs is known when it ends."
            : "Nothing was charged: nothing was delivered."}
        </p>
      </Section>
    );
  const saving = cost.cacheSaving ?? "0";
  return (
    <Section title="Price" about="Tokens times the price that was fixed when the request was admitted.">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it. */}
      <section className="scroll" aria-label="Price line by line" tabIndex={0}>
        <table className="price-table">
          <thead>
            <tr>
              <th scope="col">Item</th>
              <th scope="col" className="figure">
                Count
              </th>
              <th scope="col" className="figure">
                Price of one
              </th>
              <th scope="col" className="figure">
                Amount
              </th>
            </tr>
          </thead>
          <tbody>
            {priceLinesOf({ ...request, cost }).map(({ name, count, price, amount, note }) => (
              <tr key={name}>
                <th scope="row">
                  {name}
                  {note && <small>{note}</small>}
                </th>
                <td className="figure">{count?.toLocaleString("en")}</td>
                <td className="figure">
                  {price !== undefined && <Amount neuron={price.toString()} places={12} />}
                </td>
                <td className="figure">
                  <Amount neuron={amount.toString()} places={12} />
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" colSpan={3}>
                Charged
              </th>
              <td className="figure">
                <Amount neuron={cost.total} places={12} withUsd />
              </td>
            </tr>
          </tfoot>
        </table>
      </section>
      {request.usageEstimated && (
        <Note>The provider reported no usage: the tokens are those that the router counted.</Note>
      )}
      {saving !== "0" && (
        <Note>
          The provider's cache saved <Amount neuron={saving} places={12} />.
        </Note>
      )}
    </Section>
  );
}
