import {
  type CSSVariablesResolver,
  createTheme,
  localStorageColorSchemeManager,
  type MantineColorsTuple,
  type ModalProps,
  type TooltipProps,
} from "@mantine/core";

/** The accent: links, the primary button, the current page, the first series of a chart. */
const iris: MantineColorsTuple = [
  "#f1f0fd",
  "#e2e0fb",
  "#c5c1f7",
  "#a8a2f4",
  "#8d86ee",
  "#7168e6",
  "#5449cc",
  "#463cb0",
  "#39318f",
  "#2c266f",
];

/** Neutral greys of dark surfaces, from text to the page. */
const dark: MantineColorsTuple = [
  "#e9e9ee",
  "#c9cad3",
  "#a2a4b1",
  "#787b8a",
  "#3b3c44",
  "#2c2d33",
  "#1d1e23",
  "#131417",
  "#0e0f11",
  "#090a0b",
];

/** Neutral greys of light surfaces, from the page to text. */
const gray: MantineColorsTuple = [
  "#f8f8fa",
  "#f1f1f4",
  "#e7e7ec",
  "#d9d9e0",
  "#c4c5ce",
  "#9a9ca8",
  "#5f6270",
  "#484b57",
  "#2d2f38",
  "#191a20",
];

const modalDefaults: Partial<ModalProps> = {
  radius: "lg",
  shadow: "xl",
  transitionProps: { duration: 0 },
  overlayProps: { backgroundOpacity: 0.4, blur: 2 },
  closeButtonProps: { "aria-label": "Close" },
};
const tooltipDefaults: Partial<TooltipProps> = { openDelay: 250, transitionProps: { duration: 80 } };

/** Sizes, type and colours of the dashboard: the only place where they are defined. */
export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 6 },
  colors: { iris, dark, gray },
  black: "#191a20",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace',
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  spacing: { xs: "0.5rem", sm: "0.75rem", md: "1rem", lg: "1.5rem", xl: "2rem" },
  radius: { xs: "4px", sm: "6px", md: "8px", lg: "12px", xl: "16px" },
  defaultRadius: "md",
  shadows: {
    xs: "0 1px 2px rgb(20 20 40 / 5%)",
    sm: "0 1px 3px rgb(20 20 40 / 6%), 0 1px 2px rgb(20 20 40 / 4%)",
    md: "0 6px 24px rgb(20 20 40 / 10%), 0 1px 3px rgb(20 20 40 / 6%)",
    lg: "0 16px 48px rgb(20 20 40 / 18%)",
    xl: "0 24px 64px rgb(20 20 40 / 24%)",
  },
  headings: {
    fontWeight: "620",
    sizes: {
      h1: { fontSize: "1.5rem", lineHeight: "1.25" },
      h2: { fontSize: "0.9375rem", lineHeight: "1.4" },
      h3: { fontSize: "0.875rem", lineHeight: "1.4" },
    },
  },
  // By name instead of `Modal.extend`, which would load dialogs with the first page.
  components: {
    // Without the focusable element that is not a menu item.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Modal: { defaultProps: modalDefaults },
    Tooltip: { defaultProps: tooltipDefaults },
  },
});

/** The colours by what they mean. `--z-` names are ours, for `styles/`; each passes AA on page and card. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {
    "--z-page-width": "76rem",
    "--z-radius": "var(--mantine-radius-lg)",
    // Where the text of cards, figures and tables begins, and the space between cards.
    "--z-inset": "1.25rem",
    "--z-gap": "1rem",
  },
  light: {
    "--mantine-color-body": "#fbfbfc",
    "--mantine-color-dimmed": "#5f6270",
    "--mantine-color-placeholder": "#747681",
    "--mantine-color-error": "#b3261e",
    "--mantine-color-anchor": "#463cb0",
    "--mantine-color-default-border": "#d9d9e0",
    "--mantine-color-red-filled": "#c5302a",
    "--mantine-color-red-filled-hover": "#ab2822",
    "--mantine-color-red-light": "#fdecea",
    "--mantine-color-red-light-hover": "#fbdedb",
    "--mantine-color-red-light-color": "#b3261e",
    "--z-card": "#ffffff",
    "--z-sunken": "#f4f4f7",
    "--z-line": "#e7e7ec",
    "--z-track": "#dcdce3",
    "--z-raised": "#ffffff",
    "--z-current": "#ffffff",
    "--z-accent": "#5449cc",
    "--z-accent-soft": "#efeefd",
    "--z-good": "#0b6b3f",
    "--z-good-soft": "#e5f5ec",
    "--z-bad": "#b3261e",
    "--z-bad-soft": "#fdecea",
    "--z-busy": "#7a4b00",
    "--z-busy-soft": "#fdf2dc",
    "--z-calm-soft": "#f0f0f4",
    ...series(["#5449cc", "#0f8a8a", "#4a9be0", "#a63fa8", "#27497d", "#8b8e9c"]),
  },
  dark: {
    "--mantine-color-body": "#101114",
    "--mantine-color-dimmed": "#a2a4b1",
    "--mantine-color-placeholder": "#84868f",
    "--mantine-color-error": "#ff9d94",
    "--mantine-color-anchor": "#b3adff",
    "--mantine-color-default": "#1d1e23",
    "--mantine-color-default-hover": "#26272d",
    "--mantine-color-default-border": "#37383f",
    "--mantine-color-red-filled": "#c5302a",
    "--mantine-color-red-filled-hover": "#ab2822",
    "--mantine-color-red-light": "#331a1a",
    "--mantine-color-red-light-hover": "#40201f",
    "--mantine-color-red-light-color": "#ff9d94",
    "--z-card": "#17181c",
    "--z-sunken": "#1d1e23",
    "--z-line": "#2a2b31",
    "--z-track": "#3a3b43",
    "--z-raised": "#3a3b43",
    "--z-current": "#292742",
    "--z-accent": "#a8a2f4",
    "--z-accent-soft": "#24223f",
    "--z-good": "#6fdca3",
    "--z-good-soft": "#12291f",
    "--z-bad": "#ff9d94",
    "--z-bad-soft": "#331a1a",
    "--z-busy": "#f0c36b",
    "--z-busy-soft": "#2e2512",
    "--z-calm-soft": "#26272c",
    ...series(["#a8a2f4", "#4fc4c0", "#6fb3f2", "#d78be0", "#5b7fc4", "#80838f"]),
  },
});

/** The colours of the series of a chart, `--z-series-1` to `--z-series-6`, the last one for all others. */
function series(colors: readonly string[]): Record<string, string> {
  return Object.fromEntries(colors.map((color, n) => [`--z-series-${n + 1}`, color]));
}

/** Keeps light, dark or automatic in this browser. */
export const colorSchemes = localStorageColorSchemeManager({ key: "zerograph-color-scheme" });
