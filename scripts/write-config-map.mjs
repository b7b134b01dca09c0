// Writes deploy/kubernetes/config-map.yaml from deploy/example/payments.yaml, so that both say the same.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './process.mjs';

const example = readFileSync(join(ROOT, 'deploy', 'example', 'payments.yaml'), 'utf8');
const indented = example.replace(/^(?=.)/gm, '    ');
const manifest = `# The limits of deploy/example/payments.yaml for the pods of Weir; written by scripts/write-config-map.mjs.
apiVersion: v1
kind: ConfigMap
metadata:
  name: weir-config
  labels: {app.kubernetes.io/name: weir}
data:
  payments.yaml: |
${indented}`;
writeFileSync(join(ROOT, 'deploy', 'kubernetes', 'config-map.yaml'), manifest);
