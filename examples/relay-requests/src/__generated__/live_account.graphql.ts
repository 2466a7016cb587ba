/**
 * @generated SignedSource<<94ad1d653e7adb939e3669e5deb5b979>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ReaderFragment } from 'relay-runtime';
import type { FragmentRefs } from "relay-runtime";
export type live_account$data = {
  readonly balance: {
    readonly available: string;
    readonly held: string;
  } | null | undefined;
  readonly " $fragmentType": "live_account";
};
export type live_account$key = {
  readonly " $data"?: live_account$data;
  readonly " $fragmentSpreads": FragmentRefs<"live_account">;
};

const node: ReaderFragment = {
  "argumentDefinitions": [],
  "kind": "Fragment",
  "metadata": null,
  "name": "live_account",
  "selections": [
    {
      "alias": null,
      "args": null,
      "concreteType": "Balance",
      "kind": "LinkedField",
      "name": "balance",
      "plural": false,
      "selections": [
        {
          "alias": null,
          "args": null,
          "kind": "ScalarField",
          "name": "available",
          "storageKey": null
        },
        {
          "alias": null,
          "args": null,
          "kind": "ScalarField",
          "name": "held",
          "storageKey": null
        }
      ],
      "storageKey": null
    }
  ],
  "type": "Account",
  "abstractKey": null
};

(node as any).hash = "7b9f2195f6d1e11dbc87d8002b049a3f";

export default node;
