import {
  type AnchorHTMLAttributes,
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useState,
} from "react";

const BASE = "/dashboard";
const Place = createContext<{ readonly path: string; go(to: string): void }>({ path: "/", go() {} });

/** Tracks the page of the current URL; `go` changes it without loading anything. */
export function Router({ children }: { children: ReactNode }) {
  const [path, setPath] = useState(pathNow);
  useEffect(() => {
    const follow = () => setPath(pathNow());
    addEventListener("popstate", follow);
    return () => removeEventListener("popstate", follow);
  }, []);
  const go = (to: string) => {
    history.pushState(null, "", BASE + to);
    setPath(pathNow());
    scrollTo(0, 0);
  };
  return <Place value={{ path, go }}>{children}</Place>;
}

/** The page within the dashboard, such as `/keys` or `/jobs/0197`, and the function that navigates. */
export function usePlace() {
  return useContext(Place);
}

/** A link to a page of the dashboard. It also works as an ordinary link, such as in a new tab. */
export function Link({
  to,
  ...rest
}: { to: string } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">) {
  const { go } = usePlace();
  return (
    <a
      {...rest}
      href={BASE + to}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(to);
      }}
    />
  );
}

function pathNow(): string {
  const path = location.pathname.slice(BASE.length).replace(/\/+$/, "");
  return path === "" ? "/" : path;
}
