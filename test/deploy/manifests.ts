/** Reading the YAML files of deploy/ for the tests. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const DEPLOY = resolve(__dirname, '..', '..', 'deploy');

interface Container {
  readonly image: string;
  readonly command?: string[];
  readonly env?: { name: string; value: string }[];
  readonly ports: { name: string; containerPort: number }[];
  readonly securityContext: unknown;
  readonly readinessProbe: unknown;
  readonly livenessProbe: unknown;
  readonly volumeMounts?: { mountPath: string }[];
}

/** What the tests read of a manifest of Kubernetes, whatever its kind. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { name: string; namespace?: string };
  readonly data: Record<string, string>;
  readonly spec: {
    readonly replicas: number;
    readonly clusterIP?: string;
    readonly selector: Record<string, string>;
    readonly ports: { name: string; port: number; targetPort: string; appProtocol: string }[];
    readonly template: {
      readonly metadata: { labels: Record<string, string> };
      readonly spec: {
        readonly securityContext: unknown;
        readonly terminationGracePeriodSeconds: number;
        readonly containers: [Container];
        readonly volumes: { configMap: { name: string } }[];
      };
    };
  };
}

/** The documents of one file, as plain values; any YAML error or warning is one here. */
export function documentsOf(file: string): unknown[] {
  const documents = parseAllDocuments(readFileSync(resolve(DEPLOY, file), 'utf8'), { strict: true, uniqueKeys: true });
  if (!Array.isArray(documents)) throw new Error(`${file} holds no document`);
  return documents.map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${file}: ${problem.message}`);
    return document.toJS() as unknown;
  });
}
