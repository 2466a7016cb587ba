import { useState } from "react";
import { stringifyDocument } from "urql";
import * as z from "zod";
import { graphql } from "../../../data/query/graph.ts";
import { LongTextField, SelectField, TextField } from "../../../parts/form/fields.tsx";
import { Columns, Section } from "../../../parts/page/page.tsx";
import { EmptyState } from "../../../parts/page/states.tsx";
import type { Column } from "../../../parts/table/column.ts";
import { DataTable } from "../../../parts/table/data-table.tsx";
import { type Bill, billOf } from "../api/bill.ts";
import { BillLine } from "../api/bill-line.tsx";
import type { ApiRequest } from "../api/request.ts";
import { linesOf, modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";
import { cosineSimilarity } from "./similarity.ts";

const EMBED = graphql(`
  mutation Embed($input: CreateEmbeddingsInput!) {
    createEmbeddings(input: $input) {
      embeddings { vectors inputTokens bill { requestId cost { total } } }
      userErrors { field message }
    }
  }
`);
/** All pairs of them are compared, and shown as a table. */
const MAX_TEXTS = 12;

const schema = z.object({
  model: z.string().min(1),
  texts: z
    .string()
    .transform(linesOf)
    .refine((lines) => lines.length > 1, "At least two texts, one per line.")
    .refine((lines) => lines.length <= MAX_TEXTS, `At most ${MAX_TEXTS} texts here.`),
  dimensions: z
    .string()
    .trim()
    .regex(/^(?:[1-9]\d{0,4})?$/, "A whole number from 1 on.")
    .transform((text) => (text === "" ? undefined : Number(text))),
});
const answer = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
  x_0g_trace: z.unknown(),
});

type Compared = {
  readonly rows: readonly Row[];
  readonly dimensions: number;
  readonly bill: Bill | undefined;
};
type Row = { readonly n: number; readonly text: string; readonly similarities: readonly number[] };

function toRequest({ model, texts, dimensions }: z.output<typeof schema>): ApiRequest {
  const more = dimensions === undefined ? {} : { dimensions };
  const variables = { input: { model, texts, ...more } };
  return {
    path: "/v1/embeddings",
    body: { model, input: texts, encoding_format: "float", ...more },
    graph: { document: stringifyDocument(EMBED), variables, isStream: false },
  };
}

/** Embeds texts and compares each with each by cosine similarity. */
export function Embeddings({ models }: { models: readonly string[] }) {
  const [compared, setCompared] = useState<Compared>();
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider embeds texts at the moment." />;
  return (
    <Columns>
      <Section title="Request">
        <RequestForm
          label="Compare"
          schema={schema}
          defaultValues={{
            model: first,
            texts: "a quiet river at night\na quiet river\nan open field",
            dimensions: "",
          }}
          toRequest={toRequest}
          onAnswer={async (response, { texts }) => {
            const { data, x_0g_trace: trace } = answer.parse(await response.json());
            const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
            setCompared({
              rows: vectors.map((vector, n) => ({
                n,
                text: texts[n] ?? "",
                similarities: vectors.map((other) => cosineSimilarity(vector, other)),
              })),
              dimensions: vectors[0]?.length ?? 0,
              bill: billOf(trace),
            });
          }}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <LongTextField label="Texts" name="texts" hint="One per line." rows={6} required />
          <TextField label="Dimensions" name="dimensions" placeholder="Model default" inputMode="numeric" />
        </RequestForm>
      </Section>
      <Section
        title="Cosine similarity"
        {...(compared && { about: `Vectors of ${compared.dimensions.toLocaleString("en")} dimensions.` })}
      >
        {compared ? (
          <>
            <DataTable
              label="Cosine similarity"
              columns={columnsOf(compared.rows)}
              rows={compared.rows}
              keyOf={({ n }) => String(n)}
              empty="No vectors."
            />
            {compared.bill && <BillLine bill={compared.bill} />}
          </>
        ) : (
          <EmptyState title="Nothing compared yet.">
            1 means the same direction, 0 nothing in common.
          </EmptyState>
        )}
      </Section>
    </Columns>
  );
}

function columnsOf(rows: readonly Row[]): readonly Column<Row>[] {
  return [
    {
      id: "text",
      name: "Text",
      cell: ({ n, text }) => (
        <span className="clipped" title={text}>
          {n + 1}. {text}
        </span>
      ),
    },
    ...rows.map(({ n }) => ({
      id: `similarity-${n}`,
      name: `${n + 1}`,
      isNumber: true,
      cell: ({ similarities }: Row) => <Similarity value={similarities[n] ?? 0} />,
    })),
  ];
}

/** A similarity on a ground that is the stronger the closer it is to 1. */
function Similarity({ value }: { value: number }) {
  const percent = Math.round(Math.max(0, value) * 45);
  return (
    <span
      className="similarity"
      style={{ background: `color-mix(in srgb, var(--z-accent) ${percent}%, transparent)` }}
    >
      {value.toFixed(3)}
    </span>
  );
}
