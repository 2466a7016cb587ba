import { useMantineColorScheme } from "@mantine/core";
import { useEffect } from "react";
import { Toaster, toast } from "sonner";
import { showToasts } from "../data/toast.ts";

/** The toasts, which `data/toast.ts` asks for. */
export function Toasts() {
  const { colorScheme } = useMantineColorScheme();
  useEffect(() => showToasts(({ kind, text }) => void toast[kind](text)), []);
  return (
    <Toaster theme={colorScheme === "auto" ? "system" : colorScheme} closeButton position="bottom-right" />
  );
}
