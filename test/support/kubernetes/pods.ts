/** The pods of manifests: those of Deployments and Jobs, and single ones. */
import type { Rendered } from './helm';

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
    readonly fieldRef?: { readonly fieldPath: string };
  };
}

export interface Container {
  readonly name: string;
  readonly command?: readonly string[];
  readonly env?: readonly Variable[];
  readonly envFrom?: readonly unknown[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext?: unknown;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string; readonly optional?: boolean };
  readonly secret?: { readonly secretName: string; readonly optional?: boolean };
  readonly projected?: { readonly sources: readonly Omit<Volume, 'name' | 'projected'>[] };
}

export interface Pod {
  /** The name of its first container. */
  readonly container: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly Volume[];
    readonly securityContext?: unknown;
    readonly automountServiceAccountToken?: boolean;
    readonly terminationGracePeriodSeconds?: number;
  };
}

interface Template {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: Pod['spec'];
}

export function podsOf(objects: readonly Rendered[]): readonly Pod[] {
  return objects.flatMap((object) => {
    const template = templateOf(object);
    if (template === undefined) return [];
    return [{ container: template.spec.containers[0]!.name, labels: template.metadata.labels, spec: template.spec }];
  });
}

export function podOf(objects: readonly Rendered[], container: string): Pod {
  const found = podsOf(objects).find((pod) => pod.container === container);
  if (found === undefined) throw new Error(`no pod has the container ${container}`);
  return found;
}

function templateOf(object: Rendered): Template | undefined {
  if (object.kind === 'Pod') return object as unknown as Template;
  if (object.kind === 'Deployment' || object.kind === 'Job') return (object.spec as { template: Template }).template;
  return undefined;
}
