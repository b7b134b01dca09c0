/** What kustomize builds of a folder, and manifests in the form in which two ways to the same pods are equal. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { runCommand } from '../processes/command';
import { installed } from '../processes/installed';
import { objectsOf, type Rendered } from './helm';

/** Labels that only Helm needs. */
const HELM_LABELS = ['app.kubernetes.io/instance', 'app.kubernetes.io/version', 'app.kubernetes.io/managed-by', 'helm.sh/chart'];

export async function buildText(folder: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(installed('WEIR_KUSTOMIZE', 'install/go/kustomize.mjs'), ['build', folder]);
  if (exitCode !== 0) throw new Error(`kustomize build ${folder}: ${stderr}`);
  return stdout;
}

/** A base with components, as an overlay of one's own would have them. */
export async function buildComponents(base: string, components: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-overlay-'));
  try {
    const kustomization = { resources: [relative(folder, base)], components: components.map((component) => relative(folder, component)) };
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
    return await buildText(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Objects by kind and name, without the labels of Helm, with lists of named entries in the order of their names. */
export function normalized(text: string): Readonly<Record<string, unknown>> {
  const objects = objectsOf(text).filter(isNoHook);
  const named = objects.map((object) => [`${object.kind} ${object.metadata.name}`, normalize(object)] as const);
  return Object.fromEntries([...named].sort(([one], [other]) => one.localeCompare(other)));
}

function isNoHook({ metadata }: Rendered): boolean {
  return metadata.annotations?.['helm.sh/hook'] === undefined;
}

function normalize(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(normalize);
    const nameOf = (item: unknown): string => (item as { name?: string } | null)?.name ?? '';
    return items.every((item) => nameOf(item) !== '') ? items.sort((one, other) => nameOf(one).localeCompare(nameOf(other))) : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !HELM_LABELS.includes(name))
      .map(([name, part]) => [name, normalize(part)]),
  );
}
