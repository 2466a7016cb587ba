/** How to send tags with a request. */
export function tagSnippets(origin: string) {
  const base = `${origin}/v1`;
  return [
    {
      name: "curl",
      code: `curl ${base}/chat/completions \\
  -H "Authorization: Bearer $SK" \\
  -H "X-Tag: team=search, env=prod" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "MODEL", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
    {
      name: "Python",
      code: `answer = client.chat.completions.create(
    model="MODEL",
    messages=[{"role": "user", "content": "Hello"}],
    metadata={"team": "search", "env": "prod"},
)`,
    },
    {
      name: "TypeScript",
      code: `const answer = await client.chat.completions.create({
  model: "MODEL",
  messages: [{ role: "user", content: "Hello" }],
  metadata: { team: "search", env: "prod" },
});`,
    },
    {
      name: "GraphQL",
      code: `mutation {
  completeChat(input: {
    model: "MODEL"
    messages: [{ role: "user", content: "Hello" }]
    tags: [{ name: "team", value: "search" }, { name: "env", value: "prod" }]
  }) {
    completion { choices { text } }
    userErrors { message }
  }
}`,
    },
  ];
}
