/**
 * @generated SignedSource<<f40b1e7b1befbd14dd6cc82be3ef7c2d>>
 * @lightSyntaxTransform
 */

/* tslint:disable */
/* eslint-disable */
// @ts-nocheck

import type { ReaderFragment } from 'relay-runtime';
import type { FragmentRefs } from "relay-runtime";
export type chain_account$data = {
  readonly direct: {
    readonly ledger: {
      readonly total: string;
    } | null | undefined;
  };
  readonly marketBalance: string | null | undefined;
  readonly " $fragmentType": "chain_account";
};
export type chain_account$key = {
  readonly " $data"?: chain_account$data;
  readonly " $fragmentSpreads": FragmentRefs<"chain_account">;
};

const node: ReaderFragment = {
  "argumentDefinitions": [],
  "kind": "Fragment",
  "metadata": null,
  "name": "chain_account",
  "selections": [
    {
      "alias": null,
      "args": null,
      "kind": "ScalarField",
      "name": "marketBalance",
      "storageKey": null
    },
    {
      "alias": null,
      "args": null,
      "concreteType": "DirectPath",
      "kind": "LinkedField",
      "name": "direct",
      "plural": false,
      "selections": [
        {
          "alias": null,
          "args": null,
          "concreteType": "DirectLedger",
          "kind": "LinkedField",
          "name": "ledger",
          "plural": false,
          "selections": [
            {
              "alias": null,
              "args": null,
              "kind": "ScalarField",
              "name": "total",
              "storageKey": null
            }
          ],
          "storageKey": null
        }
      ],
      "storageKey": null
    }
  ],
  "type": "Account",
  "abstractKey": null
};

(node as any).hash = "c2efaafbfe40b826b6df3d6a5dfe7032";

export default node;
