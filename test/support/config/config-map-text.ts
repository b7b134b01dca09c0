/** A ConfigMap as kubectl would take it: two entries that are YAML, one in a block and one in quotes, and one that is not. */

export const CONFIG_MAP_TEXT = `apiVersion: v1
kind: ConfigMap
metadata:
  name: limits
data:
  notes.txt: hello
  limits.yaml: |
    domain: shop
    descriptors:
      - key: user
        rate_limit: { unit: secnod, requests_per_unit: 5 }
      - key: plan
        value: gold
        rate_limit:
          unit: hour
          requests_per_unit: 5
  more.yml: "descriptors:\\n  - key: k\\n"
`;
