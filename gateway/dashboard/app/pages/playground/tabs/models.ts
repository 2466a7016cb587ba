import { getRouteApi } from "@tanstack/react-router";

const route = getRouteApi("/playground");

/** The model that a form has at first: `model` of the URL, else the first one. */
export function useFirstModel(models: readonly string[]): string {
  const { model } = route.useSearch();
  return model !== undefined && models.includes(model) ? model : (models[0] ?? "");
}

/** The options of a `SelectField` of models. */
export function modelOptions(models: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(models.map((id) => [id, id]));
}

/** Lines of a text that are not empty. */
export function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
