import { Button, Menu, VisuallyHidden } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import Copy from "lucide-react/icons/copy";
import LogOut from "lucide-react/icons/log-out";
import Settings from "lucide-react/icons/settings";
import UserRound from "lucide-react/icons/user-round";
import { copyText, notCopied } from "../../data/copy.ts";
import { reasonOf } from "../../data/query/graph.ts";
import { useSession } from "../../data/session/session.tsx";
import { toastFailure, toastSuccess } from "../../data/toast.ts";

/** The account that is signed in, and how to sign out. */
export function AccountMenu() {
  const { address, signOut } = useSession();
  const navigate = useNavigate();
  if (!address) return null;
  const copy = async () => {
    if (await copyText(address, null)) toastSuccess("Copied the address.");
    else toastFailure(notCopied(address));
  };
  const leave = () => signOut().catch((error: unknown) => toastFailure(reasonOf(error)));
  return (
    <Menu position="bottom-end" shadow="md" width={230}>
      <Menu.Target>
        <Button variant="subtle" color="gray" px="xs">
          <UserRound size={17} aria-hidden="true" />
          <VisuallyHidden>Account </VisuallyHidden>
          <code className="who">
            {address.slice(0, 6)}…{address.slice(-4)}
          </code>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Copy size={15} />} onClick={copy}>
          Copy address
        </Menu.Item>
        <Menu.Item leftSection={<Settings size={15} />} onClick={() => void navigate({ to: "/settings" })}>
          Settings
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={15} />} onClick={leave}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
