import { useMutation, useQuery } from "urql";
import { graphql } from "./graphql/index.ts";

const MODELS = graphql(`
  query ImageModels {
    models(first: 100) {
      nodes { id modelId serviceType pricing { output } }
    }
  }
`);
const SUBMIT = graphql(`
  mutation SubmitImageJob($input: SubmitImageJobInput!) {
    submitImageJob(input: $input) { imageJob { id } userErrors { message } }
  }
`);

/** A form that has a job taken on. */
export function Ask({ onSubmitted }: { onSubmitted(id: string): void }) {
  const [{ data, error }] = useQuery({ query: MODELS });
  const [sent, submit] = useMutation(SUBMIT);
  const models = data?.models?.nodes.filter(({ serviceType }) => serviceType === "TEXT_TO_IMAGE");
  const send = async (form: FormData) => {
    const input = { model: String(form.get("model")), prompt: String(form.get("prompt")) };
    const { data: made } = await submit({ input });
    if (made?.submitImageJob?.imageJob) onSubmitted(made.submitImageJob.imageJob.id);
  };
  const failure = sent.error ?? error;
  const problem =
    sent.data?.submitImageJob?.userErrors[0]?.message ??
    failure?.graphQLErrors[0]?.message ??
    failure?.message;
  return (
    <form action={send}>
      <label>
        What it shows
        <input name="prompt" required defaultValue="A lighthouse at dusk" />
      </label>
      <label>
        Model
        <select name="model" required>
          {models?.map(({ id, modelId, pricing }) => (
            <option key={id} value={modelId}>
              {modelId}, {pricing?.output} neuron an image
            </option>
          ))}
        </select>
      </label>
      <button type="submit" disabled={sent.fetching}>
        Make it
      </button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
