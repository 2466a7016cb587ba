import { placesOf } from "../../data/amounts.ts";
import { useNetwork } from "../../data/session/session.tsx";
import { Section } from "../../parts/page/page.tsx";
import { Note } from "../../parts/page/states.tsx";
import { Amount } from "../../parts/value/amount.tsx";
import { isPerToken, priceUnit, statedPrice } from "../../parts/value/unit-price.tsx";
import { priceLinesOf } from "./price-lines.ts";
import type { Request } from "./request-query.ts";

/** How the cost came about, line by line. */
export function PriceCard({ of: request }: { of: Request }) {
  const { symbol } = useNetwork();
  const { cost } = request;
  if (!cost)
    return (
      <Section title="Price">
        <p>
          {request.status === "RUNNING"
            ? "Its highest possible cost is held. The cost is known when the request ends."
            : "Nothing was charged: nothing was delivered."}
        </p>
      </Section>
    );
  const saving = cost.cacheSaving ?? "0";
  const lines = priceLinesOf({ ...request, cost });
  const stated = (price: bigint) => BigInt(statedPrice(price.toString(), request.serviceType));
  const unit = isPerToken(request.serviceType) ? "1M" : priceUnit(request.serviceType);
  const prices = placesOf(lines.flatMap(({ price }) => (price === undefined ? [] : [stated(price)])));
  const places = placesOf([...lines.map(({ amount }) => amount), BigInt(cost.total)]);
  return (
    <Section title="Price" about="Tokens × unit price, fixed when the request was admitted.">
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
                Price per {unit}, {symbol}
              </th>
              <th scope="col" className="figure">
                Amount, {symbol}
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.map(({ name, count, price, amount, note }, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: input and output may have a line of one name.
              <tr key={n}>
                <th scope="row">
                  {name}
                  {note && <small>{note}</small>}
                </th>
                <td className="figure">{count?.toLocaleString("en")}</td>
                <td className="figure">
                  {price !== undefined && <Amount neuron={stated(price).toString()} places={prices} isCell />}
                </td>
                <td className="figure">
                  <Amount neuron={amount.toString()} places={places} isCell />
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
                <Amount neuron={cost.total} places={places} isCell />
              </td>
            </tr>
          </tfoot>
        </table>
      </section>
      {request.usageEstimated && (
        <Note>The provider reported no usage: the tokens are those that the gateway counted.</Note>
      )}
      {saving !== "0" && (
        <Note>
          The provider's cache saved <Amount neuron={saving} places={12} />.
        </Note>
      )}
    </Section>
  );
}
