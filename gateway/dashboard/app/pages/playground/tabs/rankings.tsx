import { Progress } from "@mantine/core";
import { useState } from "react";
import { stringifyDocument } from "urql";
import * as z from "zod";
import { graphql } from "../../../data/query/graph.ts";
import { LongTextField, SelectField, TextField } from "../../../parts/form/fields.tsx";
import { Columns, Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import { type Bill, billOf } from "../api/bill.ts";
import { BillLine } from "../api/bill-line.tsx";
import type { ApiRequest } from "../api/request.ts";
import { linesOf, modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";

const RANK = graphql(`
  mutation Rank($input: RerankDocumentsInput!) {
    rerankDocuments(input: $input) {
      ranking { results { index relevanceScore } bill { requestId cost { total } } }
      userErrors { field message }
    }
  }
`);
const MAX_DOCUMENTS = 100;

const schema = z.object({
  model: z.string().min(1),
  query: z.string().trim().min(1, "What the documents are compared with."),
  documents: z
    .string()
    .transform(linesOf)
    .refine((lines) => lines.length > 1, "At least two documents, one per line.")
    .refine((lines) => lines.length <= MAX_DOCUMENTS, `At most ${MAX_DOCUMENTS} documents here.`),
});
const answer = z.object({
  results: z.array(z.object({ index: z.int(), relevance_score: z.number() })),
  x_0g_trace: z.unknown(),
});

type Ranking = {
  readonly results: readonly { readonly document: string; readonly score: number }[];
  readonly bill: Bill | undefined;
};

function toRequest({ model, query, documents }: z.output<typeof schema>): ApiRequest {
  const variables = { input: { model, query, documents } };
  return {
    path: "/v1/rerank",
    body: { model, query, documents },
    graph: { document: stringifyDocument(RANK), variables, isStream: false },
  };
}

/** Ranks documents by how well they fit a query, with their scores as bars. */
export function Rankings({ models }: { models: readonly string[] }) {
  const [ranking, setRanking] = useState<Ranking>();
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider ranks documents at the moment." />;
  return (
    <Columns>
      <Section title="Request">
        <RequestForm
          label="Rank"
          schema={schema}
          defaultValues={{
            model: first,
            query: "quiet water",
            documents: "an open field in the wind\na quiet river at night\nwater",
          }}
          toRequest={toRequest}
          onAnswer={async (response, { documents }) => {
            const { results, x_0g_trace: trace } = answer.parse(await response.json());
            setRanking({
              results: results.map(({ index, relevance_score: score }) => ({
                document: documents[index] ?? `Document ${index + 1}`,
                score,
              })),
              bill: billOf(trace),
            });
          }}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <TextField label="Query" name="query" required />
          <LongTextField label="Documents" name="documents" hint="One per line." rows={6} required />
        </RequestForm>
      </Section>
      <Section title="Ranking">
        {ranking ? (
          <>
            <ol className="bars" aria-label="Ranking">
              {ranking.results.map(({ document, score }, n) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a document may be there twice.
                <li key={n}>
                  <span>{document}</span>
                  <span className="figure">{score.toFixed(3)}</span>
                  <Progress
                    className="bar"
                    size="sm"
                    value={Math.max(0, Math.min(1, score)) * 100}
                    aria-label={`Score of ${document}`}
                  />
                </li>
              ))}
            </ol>
            {ranking.bill && <BillLine bill={ranking.bill} />}
          </>
        ) : (
          <EmptyState title="Nothing ranked yet.">
            The best document comes first, with its score from 0 to 1.
          </EmptyState>
        )}
      </Section>
    </Columns>
  );
}
