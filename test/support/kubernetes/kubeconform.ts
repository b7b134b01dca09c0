/** kubeconform with the schemas of several Kubernetes versions and of custom resources: what each version finds wrong in manifests. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../processes/command';
import { installed } from '../processes/installed';

export interface Conformance {
  /** Manifests that were checked. */
  readonly count: number;
  /** `FILE KIND NAME: what is wrong`, one for each manifest that is invalid or has no schema. */
  readonly problems: readonly string[];
}

/** The part of kubeconform's report that is read. */
interface Report {
  readonly resources: readonly { filename: string; kind: string; name: string; status: string; msg: string }[];
}

const TIMEOUT_MS = 120_000;
const GOOD = ['statusValid', 'statusEmpty'];

/** Of Kubernetes, such as `v1.37.0`, from the oldest. */
export function kubernetesVersions(): readonly string[] {
  return readdirSync(schemas()).filter((name) => /^v\d/.test(name));
}

/** Checks files, and the files of folders, against the schemas of one version: unknown fields are problems, as is a kind without a schema. */
export async function conformanceOf(paths: readonly string[], { version }: { readonly version: string }): Promise<Conformance> {
  const program = installed('WEIR_KUBECONFORM', 'install/go/kubeconform.mjs');
  const locations = [
    '{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json',
    'custom/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json',
  ];
  const args = [
    ...['-strict', '-verbose', '-output', 'json', '-kubernetes-version', version.replace(/^v/, '')],
    ...locations.flatMap((location) => ['-schema-location', join(schemas(), location)]),
  ];
  const { exitCode, stdout, stderr } = await runCommand(program, [...args, ...paths], { timeoutMs: TIMEOUT_MS });
  if (stdout.trim() === '') throw new Error(`kubeconform ended with ${exitCode} and no report: ${stderr}`);
  const { resources } = JSON.parse(stdout) as Report;
  return {
    count: resources.length,
    problems: resources
      .filter(({ status }) => !GOOD.includes(status))
      .map(({ filename, kind, name, msg }) => `${filename} ${kind} ${name}: ${msg}`),
  };
}

function schemas(): string {
  return installed('WEIR_KUBERNETES_SCHEMAS', 'install/kubernetes/schemas.mjs');
}
