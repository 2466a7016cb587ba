import { Link, type LinkProps } from "@tanstack/react-router";
import { Hash } from "../value/hash.tsx";
import "./breadcrumb.css";

/** Where a page for one thing is: the list that it is of, and its id. */
export function Breadcrumb({ list, to, id }: { list: string; to: LinkProps["to"]; id: string }) {
  return (
    <nav aria-label="Breadcrumb" className="breadcrumb">
      <Link to={to as "/"}>{list}</Link>
      <span aria-hidden="true">/</span>
      <Hash of={id} withCopy isWhole />
    </nav>
  );
}
