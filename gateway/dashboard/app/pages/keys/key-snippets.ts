/** How to call a chat model with a key, in each of the usual ways. The key is part of the code. */
export function keySnippets({ origin, secret, model }: { origin: string; secret: string; model: string }) {
  const base = `${origin}/v1`;
  const question = "What is a neuron?";
  const mutation =
    "mutation($input: CompleteChatInput!) { completeChat(input: $input) { completion { choices { text } bill { cost { total } } } userErrors { message } } }";
  const input = { model, messages: [{ role: "user", content: question }] };
  return [
    {
      name: "curl",
      code: `curl ${base}/chat/completions \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(input)}'`,
    },
    {
      name: "Python",
      code: `from openai import OpenAI

client = OpenAI(base_url="${base}", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "${question}"}],
)
print(answer.choices[0].message.content)`,
    },
    {
      name: "TypeScript",
      code: `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}", apiKey: "${secret}" });
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "${question}" }],
});
console.log(answer.choices[0]?.message.content);`,
    },
    {
      name: "GraphQL",
      code: `curl ${origin}/graphql \\
  -H "Authorization: Bearer ${secret}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify({ query: mutation, variables: { input } })}'`,
    },
  ];
}
