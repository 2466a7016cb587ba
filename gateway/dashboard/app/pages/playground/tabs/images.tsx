import { useRef, useState } from "react";
import { useWatch } from "react-hook-form";
import { stringifyDocument, useQuery } from "urql";
import * as z from "zod";
import { isAnswerTo } from "../../../data/query/answer-to.ts";
import { client, graphql, reasonOf } from "../../../data/query/graph.ts";
import { readOwn, writeOwn } from "../../../data/session/own-storage.ts";
import { LongTextField, SelectField } from "../../../parts/form/fields.tsx";
import { Section } from "../../../parts/page/page.tsx";
import { EmptyState, Note } from "../../../parts/page/states.tsx";
import { isPerToken, priceUnit, UnitPrice } from "../../../parts/value/unit-price.tsx";
import { JobView } from "../../jobs/job-view.tsx";
import type { ApiRequest } from "../api/request.ts";
import { modelOptions, useFirstModel } from "./models.ts";
import { RequestForm } from "./request-form.tsx";

const SUBMIT = graphql(`
  mutation SubmitJob($input: SubmitImageJobInput!) {
    submitImageJob(input: $input) { imageJob { jobId } userErrors { field message } }
  }
`);
const PRICE = graphql("query ImagePrice($id: ID!) { model(id: $id) { serviceType pricing { output } } }");
const CURSOR = graphql("query PlaygroundCursor { eventCursor }");
const NAME = "image-job";
const SIZES = ["256x256", "512x512", "1024x1024"] as const;

const schema = z.object({
  model: z.string().min(1),
  prompt: z.string().trim().min(1, "What the image shows."),
  n: z.enum(["1", "2", "3", "4"]),
  size: z.enum(["", ...SIZES]),
});
const answer = z.object({ jobId: z.string() });
const kept = z.object({ id: z.string(), since: z.string() });

/** The job that is shown, and a cursor from before it. */
type Job = z.output<typeof kept>;

function toRequest({ model, prompt, n, size }: z.output<typeof schema>): ApiRequest {
  const more = { ...(n !== "1" && { n: Number(n) }), ...(size !== "" && { size }) };
  const variables = { input: { model, prompt, ...more } };
  return {
    path: "/v1/async/images/generations",
    body: { model, prompt, ...more, response_format: "b64_json" },
    graph: { document: stringifyDocument(SUBMIT), variables, isStream: false },
  };
}

/** Generates images as a job, whose steps are shown: all of them, also after a reload. */
export function Images({ address, models }: { address: string; models: readonly string[] }) {
  const [job, setJob] = useState<Job | undefined>(
    () => kept.safeParse(readOwn("session", address, NAME)).data,
  );
  const since = useRef("");
  const first = useFirstModel(models);
  if (models.length === 0) return <EmptyState title="No provider generates images at the moment." />;
  return (
    <>
      <Section
        title="Request"
        about="Images are generated as a job, which is charged once, when it completes."
      >
        <RequestForm
          label="Generate"
          schema={schema}
          defaultValues={{ model: first, prompt: "", n: "1", size: "" }}
          toRequest={toRequest}
          onStart={async () => {
            const now = await client.query(CURSOR, {}, { requestPolicy: "network-only" }).toPromise();
            if (!now.data?.eventCursor) throw new Error(reasonOf(now.error));
            since.current = now.data.eventCursor;
          }}
          onAnswer={async (response) => {
            const { jobId } = answer.parse(await response.json());
            const made = { id: jobId, since: since.current };
            writeOwn("session", address, NAME, made);
            setJob(made);
          }}
        >
          <SelectField label="Model" name="model" options={modelOptions(models)} />
          <LongTextField label="Prompt" name="prompt" rows={3} placeholder="A lighthouse at dusk" required />
          <div className="pair-of-fields">
            <SelectField label="Images" name="n" options={{ "1": "1", "2": "2", "3": "3", "4": "4" }} />
            <SelectField
              label="Size"
              name="size"
              options={{ "": "Model default", ...Object.fromEntries(SIZES.map((size) => [size, size])) }}
            />
          </div>
          <Price />
        </RequestForm>
      </Section>
      {job && <JobView key={job.id} id={job.id} since={job.since} />}
    </>
  );
}

/** The lowest price of the chosen model, per image. */
function Price() {
  const model: string = useWatch({ name: "model" });
  const variables = { id: model };
  const [read] = useQuery({ query: PRICE, variables, requestPolicy: "cache-first" });
  const { pricing, serviceType } = (isAnswerTo(read, variables) && read.data?.model) || {};
  if (!pricing || !serviceType || isPerToken(serviceType)) return null;
  return (
    <Note>
      From <UnitPrice neuron={pricing.output} serviceType={serviceType} withUsd /> per{" "}
      {priceUnit(serviceType)}
    </Note>
  );
}
