import { AccountMenu } from "./account-menu.tsx";
import { ColorSchemeMenu } from "./color-scheme-menu.tsx";

/** The menus of the header, which are loaded after the page. */
export function HeaderMenus() {
  return (
    <>
      <ColorSchemeMenu />
      <AccountMenu />
    </>
  );
}
