import { ActionIcon, type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";
import Check from "lucide-react/icons/check";
import Monitor from "lucide-react/icons/monitor";
import Moon from "lucide-react/icons/moon";
import Sun from "lucide-react/icons/sun";

const SCHEMES = {
  light: { name: "Light", icon: Sun },
  dark: { name: "Dark", icon: Moon },
  auto: { name: "As the system", icon: Monitor },
} as const;

/** Chooses light, dark or what the system says; the choice is kept in this browser. */
export function ColorSchemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { icon: Current, name } = SCHEMES[colorScheme];
  return (
    <Menu position="bottom-end" shadow="md" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label={`Colours: ${name}`}>
          <Current size={17} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {Object.entries(SCHEMES).map(([scheme, { name: text, icon: Icon }]) => (
          <Menu.Item
            key={scheme}
            leftSection={<Icon size={15} />}
            rightSection={scheme === colorScheme && <Check size={14} aria-label="chosen" />}
            onClick={() => setColorScheme(scheme as MantineColorScheme)}
          >
            {text}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
