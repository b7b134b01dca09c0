/** A pod of manifests on this machine: its volumes as folders, and its environment with their paths in place of those of the pod. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Rendered } from './helm';
import type { Pod, Volume } from './pods';

/** File names with their text: the data of a Secret or ConfigMap. */
export type Data = Readonly<Record<string, string>>;

export interface Cluster {
  readonly objects: readonly Rendered[];
  /** By their names. */
  readonly secrets?: Readonly<Record<string, Data>>;
  /** Those that the manifests do not have. */
  readonly configMaps?: Readonly<Record<string, Data>>;
}

export interface MountedPod {
  /** Of the first container. */
  readonly env: Readonly<Record<string, string>>;
  /** The command of the first container, with the programs of deploy/bin in place of those of the image. */
  readonly command: readonly [string, ...string[]];
  remove(): void;
}

const REPOSITORY = resolve(__dirname, '..', '..', '..');
const PROGRAMS = join(REPOSITORY, 'deploy', 'bin');

export function mountPod(pod: Pod, cluster: Cluster): MountedPod {
  const root = mkdtempSync(join(tmpdir(), 'weir-pod-'));
  const container = pod.spec.containers[0]!;
  const mounts = (container.volumeMounts ?? []).map(({ name, mountPath }) => {
    const volume = pod.spec.volumes?.find((candidate) => candidate.name === name);
    if (volume === undefined) throw new Error(`the pod has no volume ${name}`);
    const folder = join(root, mountPath);
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(dataOf(volume, cluster))) writeFileSync(join(folder, file), text);
    return mountPath;
  });
  const here = (text: string): string =>
    ['/data', ...mounts].reduce((result, path) => result.replaceAll(new RegExp(`(^|[ =])${path}(?=/|$)`, 'g'), `$1${root}${path}`), text);
  const [program, ...args] = (container.command ?? []).map((word) =>
    here(word.replaceAll(/\/bin\/(ratelimit|weir)\b/g, join(PROGRAMS, '$1'))),
  );
  if (program === undefined) throw new Error(`the container ${container.name} has no command`);
  const variables = (container.env ?? []).flatMap(({ name, value, valueFrom }) => {
    if (valueFrom?.fieldRef !== undefined) return [[name, `field ${valueFrom.fieldRef.fieldPath}`]];
    const secret = valueFrom?.secretKeyRef;
    if (secret === undefined) return [[name, here(value ?? '')]];
    const found = cluster.secrets?.[secret.name]?.[secret.key];
    if (found === undefined && secret.optional === true) return [];
    return [[name, found ?? missing(`Secret ${secret.name} with ${secret.key}`)]];
  });
  return {
    env: { ...(Object.fromEntries(variables) as Record<string, string>), WEIR_HOME: REPOSITORY },
    command: [program, ...args],
    remove: () => {
      rmSync(root, { recursive: true });
    },
  };
}

function dataOf(volume: Volume, cluster: Cluster): Data {
  const { secret, configMap, projected } = volume;
  const sources = projected?.sources ?? [];
  if (sources.length > 0)
    return sources.reduce<Data>((data, source) => ({ ...data, ...dataOf({ ...source, name: volume.name }, cluster) }), {});
  if (secret !== undefined) return cluster.secrets?.[secret.secretName] ?? absent(secret, `Secret ${secret.secretName}`);
  if (configMap === undefined) return {};
  const { name } = configMap;
  const rendered = cluster.objects.find((object) => object.kind === 'ConfigMap' && object.metadata.name === name);
  return (rendered?.data as Data | undefined) ?? cluster.configMaps?.[name] ?? absent(configMap, `ConfigMap ${name}`);
}

/** Kubernetes mounts an empty folder for an optional object, and waits for any other. */
function absent({ optional }: { readonly optional?: boolean }, what: string): Data {
  return optional === true ? {} : missing(what);
}

function missing(what: string): never {
  throw new Error(`the test has no ${what}`);
}
