/** Writes deploy/kubernetes/config-map.yaml from deploy/example/payments.yaml. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../process/repository.mjs';

const example = readFileSync(join(ROOT, 'deploy', 'example', 'payments.yaml'), 'utf8');
const indented = example.replace(/^(?=.)/gm, '    ');
const manifest = `# The limits of deploy/example/payments.yaml for the pods of Weir; written by scripts/generate/config-map.mjs.
apiVersion: v1
kind: ConfigMap
metadata:
  name: weir-config
  labels: {app.kubernetes.io/name: weir}
data:
  payments.yaml: |
${indented}`;
writeFileSync(join(ROOT, 'deploy', 'kubernetes', 'config-map.yaml'), manifest);
