import { jsonSchema, tool } from "ai";

/** A tool of Vercel's client, and the cities that it was called with. */
export function weatherTool() {
  const cities: string[] = [];
  const weather = tool({
    description: "The weather of a city",
    inputSchema: jsonSchema<{ city: string }>({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    }),
    execute: async ({ city }) => {
      cities.push(city);
      return "sun";
    },
  });
  return { cities, weather };
}
